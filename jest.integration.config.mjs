// Integration tests against real Dask schedulers and processes: *.integration.spec.ts.
import base from './jest.config.mjs';

const node = base.projects.find(project => project.displayName === 'node');

export default {
  testTimeout: 180_000,
  maxWorkers: 1,
  projects: [
    {
      ...node,
      displayName: 'integration',
      testRegex: '\\.integration\\.spec\\.ts$',
      testPathIgnorePatterns: []
    }
  ]
};
