// Two worlds in one run: node (ES modules) and the browser half (jsdom).
const letThrough = [
  '@codemirror',
  '@marijn',
  '@microsoft',
  '@jupyter',
  '@jupyterlab',
  '@rjsf',
  'color',
  'exenv-es6',
  'lib0',
  'marked',
  'nanoid',
  'vscode-ws-jsonrpc',
  'y-protocols',
  'y-websocket',
  'yjs'
].join('|');

const swc = (module, tsx) => [
  '@swc/jest',
  {
    jsc: {
      target: 'es2022',
      parser: { syntax: 'typescript', tsx, decorators: false },
      transform: { react: { runtime: 'automatic' } }
    },
    module: { type: module },
    sourceMaps: 'inline'
  }
];

export default {
  testTimeout: 60_000,
  projects: [
    {
      displayName: 'node',
      testEnvironment: 'node',
      roots: [
        '<rootDir>/src/protocol',
        '<rootDir>/src/backends',
        '<rootDir>/src/bridge'
      ],
      testRegex: '\\.spec\\.ts$',
      testPathIgnorePatterns: ['\\.integration\\.spec\\.ts$'],
      extensionsToTreatAsEsm: ['.ts'],
      transform: { '^.+\\.ts$': swc('es6', false) },
      moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' }
    },
    {
      displayName: 'frontend',
      testEnvironment: '@jupyterlab/testing/lib/jest-env.js',
      setupFiles: ['@jupyterlab/testing/lib/jest-shim.js'],
      roots: ['<rootDir>/src/frontend'],
      testRegex: '\\.spec\\.tsx?$',
      transform: {
        '\\.svg$': '@jupyterlab/testing/lib/jest-raw-loader.js',
        '^.+\\.(ts|tsx|js|mjs)$': swc('commonjs', true)
      },
      transformIgnorePatterns: [`/node_modules/(?!(${letThrough})/)`],
      moduleNameMapper: {
        '^yjs$': '<rootDir>/node_modules/yjs/dist/yjs.cjs',
        '\\.css$': 'identity-obj-proxy',
        '^(\\.{1,2}/.*)\\.js$': '$1'
      }
    }
  ]
};
