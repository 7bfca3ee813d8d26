import { describeTranscripts } from './fixtures/expectations.js';
import { slurm } from './slurm.js';

describeTranscripts('slurm', slurm);
