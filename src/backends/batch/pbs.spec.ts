import { describeTranscripts } from './fixtures/expectations.js';
import { pbs } from './pbs.js';

describeTranscripts('openpbs', pbs);
