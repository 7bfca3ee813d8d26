import { describeTranscripts } from './fixtures/expectations.js';
import { torque } from './torque.js';

describeTranscripts('torque', torque);
