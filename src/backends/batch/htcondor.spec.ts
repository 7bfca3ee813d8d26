import { describeTranscripts } from './fixtures/expectations.js';
import { htcondor } from './htcondor.js';

describeTranscripts('htcondor', htcondor);
