import { describeTranscripts } from './fixtures/expectations.js';
import { sge } from './sge.js';

describeTranscripts('sge', sge);
