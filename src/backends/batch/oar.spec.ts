import { describeTranscripts } from './fixtures/expectations.js';
import { oar } from './oar.js';

describeTranscripts('oar', oar);
