// What machines check (design/style.md §3): strict types, JupyterLab's conventions, the floor wall.
import jupyter from '@jupyter/eslint-plugin';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const SPECS = [
  'bench/**/*.ts',
  'testbeds/**/*.ts',
  '**/*.spec.ts',
  '**/*.spec.tsx',
  '**/fixtures/**/*.ts',
  '**/fixtures/**/*.tsx'
];

/** Rooms of the floors above, which a floor may not import (design/architecture.md §2). */
const ABOVE = {
  protocol: ['backends', 'bridge', 'frontend'],
  backends: ['bridge', 'frontend'],
  bridge: ['frontend'],
  frontend: ['bridge', 'backends']
};

/** What the ground floor and the browser half may not have at all. */
const NODE_ONLY = {
  group: [
    'node:*',
    'fastify',
    'ws',
    'execa',
    'ssh2',
    'pino',
    'commander',
    '@msgpack/*',
    '@peculiar/*'
  ],
  message: 'This runs in the browser too.'
};

/** A relative import that names no file: Node resolves none without its extension. */
const EXTENSIONS = {
  regex: '^\\.{1,2}/(?!.*\\.(js|json|css|svg)$).*',
  message: "Relative imports end in '.js'."
};

const wall = (floor, { tests = false } = {}) => {
  const rooms = ABOVE[floor].join('|');
  return {
    'no-restricted-imports': [
      'error',
      {
        patterns: [
          {
            regex: `^(\\.{1,2}/)+(${rooms})(/|$)`,
            message: `${floor} stands below or beside it.`
          },
          EXTENSIONS,
          ...((floor === 'protocol' || floor === 'frontend') && !tests
            ? [NODE_ONLY]
            : [])
        ]
      }
    ]
  };
};

/** Of ESLint's own recommended rules, those that types do not already cover. */
const CORE = Object.fromEntries(
  [
    'no-async-promise-executor',
    'no-case-declarations',
    'no-cond-assign',
    'no-constant-condition',
    'no-control-regex',
    'no-debugger',
    'no-dupe-else-if',
    'no-empty',
    'no-fallthrough',
    'no-irregular-whitespace',
    'no-loss-of-precision',
    'no-misleading-character-class',
    'no-prototype-builtins',
    'no-regex-spaces',
    'no-self-assign',
    'no-sparse-arrays',
    'no-unsafe-finally',
    'no-useless-escape'
  ].map(rule => [rule, 'error'])
);

const typed = project => ({
  languageOptions: {
    parserOptions: { project, tsconfigRootDir: import.meta.dirname }
  }
});

export default defineConfig([
  globalIgnores([
    'lib/',
    'dist/',
    'coverage/',
    'node_modules/',
    '.venv/',
    '.venvs/',
    '.cache/',
    'jupyterlab_muster/',
    'ui-tests/test-results/',
    'docs/site/',
    'bench/results/'
  ]),
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.strictTypeChecked, jupyter.configs.recommended],
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true }
      ],
      // Numbers in sentences are what templates are for.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true }
      ],
      // `() => close()` as a handler is our manner.
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true }
      ],
      // A namespace below a class holds its IOptions (JupyterLab's manner).
      '@typescript-eslint/no-namespace': 'off',
      '@typescript-eslint/no-unused-vars': [
        'error',
        {
          argsIgnorePattern: '^_',
          varsIgnorePattern: '^_',
          ignoreRestSiblings: true
        }
      ],
      '@typescript-eslint/only-throw-error': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      ...CORE,
      // Notes for whoever looks into the browser's console are warnings; nothing is printed.
      'no-console': ['error', { allow: ['warn', 'error'] }],
      'no-eval': 'error',
      // The browser half is one chunk that JupyterLab already loads when it is idle.
      'jupyter/prefer-lazy-imports': 'off',
      'jupyter/require-signal-cleanup': 'error',
      'jupyter/prefer-signal-this-arg': 'error',
      'jupyter/require-disposable-ownership': 'error',
      'jupyter/require-disposable-transfer': 'error',
      // Opening the database file a second time drops the process's locks on it
      // (reliability-and-security.md R9): only the store knows its name.
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'Literal[value=/muster\\.db/], TemplateElement[value.raw=/muster\\.db/]',
          message: 'Only the store touches the database file; ask it.'
        }
      ]
    }
  },
  ...Object.keys(ABOVE).flatMap(floor => [
    {
      files: [`src/${floor}/**/*.ts`, `src/${floor}/**/*.tsx`],
      ignores: SPECS,
      ...typed([`./src/${floor}/tsconfig.json`]),
      rules: wall(floor)
    },
    {
      files: SPECS.map(pattern => `src/${floor}/${pattern}`),
      rules: wall(floor, { tests: true })
    }
  ]),
  {
    // The composition root hands the store its path; the store's room is where it is used.
    files: ['src/bridge/store/**/*.ts', 'src/bridge/main.ts', ...SPECS],
    rules: { 'no-restricted-syntax': 'off' }
  },
  {
    // JupyterLab's conventions are about the browser half.
    files: [
      'src/protocol/**',
      'src/backends/**',
      'src/bridge/**',
      'ui-tests/**'
    ],
    rules: Object.fromEntries(
      Object.keys(jupyter.rules)
        .filter(
          name =>
            !name.startsWith('galata-') && !name.startsWith('require-soft')
        )
        .map(name => [`jupyter/${name}`, 'off'])
    )
  },
  {
    files: ['src/frontend/**'],
    rules: {
      // `signal.connect(this._onChanged, this)` is JupyterLab's manner; its own rules watch it.
      '@typescript-eslint/unbound-method': 'off'
    }
  },
  {
    // The command prints: that is what it is for.
    files: ['src/bridge/cli/**/*.ts'],
    rules: { 'no-console': 'off' }
  },
  {
    files: SPECS,
    ...typed(['./tsconfig.test.json', './tsconfig.test.frontend.json']),
    rules: {
      // Tests look at what they know to be there, hand in broken things, and mock without `this`.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      'no-console': 'off',
      'jupyter/no-untranslated-string': 'off',
      'jupyter/require-signal-cleanup': 'off',
      'jupyter/prefer-signal-this-arg': 'off',
      'jupyter/require-disposable-ownership': 'off',
      'jupyter/require-disposable-transfer': 'off',
      'jupyter/command-described-by': 'off'
    }
  },
  {
    files: ['ui-tests/**/*.ts'],
    ...typed(['./ui-tests/tsconfig.json']),
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/require-await': 'off',
      'no-console': 'off',
      'no-restricted-syntax': 'off'
    }
  },
  {
    files: ['**/*.mjs', '**/*.js'],
    languageOptions: {
      ecmaVersion: 'latest',
      sourceType: 'module',
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        Buffer: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        performance: 'readonly',
        fetch: 'readonly',
        AbortSignal: 'readonly'
      }
    },
    rules: { 'no-undef': 'error', 'no-unused-vars': 'error', eqeqeq: 'error' }
  }
]);
