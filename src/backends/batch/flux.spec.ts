import { describeTranscripts } from './fixtures/expectations.js';
import { flux } from './flux.js';

describeTranscripts('flux', flux);
