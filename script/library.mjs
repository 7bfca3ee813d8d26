/**
 * Lays out the library's package: what `lib/backends/index.js` and its types reach, and nothing else.
 * Its dependencies are the packages those files name, in the versions of our own package.json.
 *
 * Usage: node script/library.mjs FOLDER
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [target] = process.argv.slice(2);
if (target === undefined) {
  throw new Error('usage: node script/library.mjs FOLDER');
}
const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const lib = join(root, 'lib');

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s[^'";]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)\s*import\s*['"]([^'"]+)['"]/g;

const files = new Set();
const packages = new Set();
const waiting = [
  join(lib, 'backends', 'index.js'),
  join(lib, 'backends', 'index.d.ts')
];
while (waiting.length > 0) {
  const file = waiting.pop();
  if (files.has(file)) {
    continue;
  }
  files.add(file);
  const types = file.endsWith('.d.ts');
  const text = readFileSync(file, 'utf8');
  for (const match of text.matchAll(IMPORT)) {
    const name = match[1] ?? match[2] ?? match[3];
    if (name.startsWith('.')) {
      const path = join(dirname(file), name);
      waiting.push(types ? path.replace(/\.js$/, '.d.ts') : path);
    } else if (!name.startsWith('node:')) {
      packages.add(
        name
          .split('/')
          .slice(0, name.startsWith('@') ? 2 : 1)
          .join('/')
      );
    }
  }
  // A program has types, also where only another program uses it.
  const beside = file.replace(/\.js$/, '.d.ts');
  if (!types && existsSync(beside)) {
    waiting.push(beside);
  }
}

for (const file of files) {
  const inside = relative(lib, file);
  if (!/^(?:backends|protocol)[\\/]/.test(inside)) {
    throw new Error(`the library would need ${inside}`);
  }
  const copy = join(target, 'lib', inside);
  mkdirSync(dirname(copy), { recursive: true });
  // Their maps stay here, together with the sources.
  const text = readFileSync(file, 'utf8').replace(
    /\n\/\/# sourceMappingURL=.*\s*$/,
    '\n'
  );
  writeFileSync(copy, text);
}

const dependencies = Object.fromEntries(
  [...packages].sort().map(name => {
    const version = own.dependencies[name] ?? own.devDependencies[name];
    if (version === undefined) {
      throw new Error(`${name} has no version in package.json`);
    }
    return [name, version];
  })
);

const entry = {
  types: './lib/backends/index.d.ts',
  default: './lib/backends/index.js'
};
writeFileSync(
  join(target, 'package.json'),
  `${JSON.stringify(
    {
      name: own.name,
      version: own.version,
      description:
        'Batch systems, parallel launchers and allocations as plain functions; the library part of jupyterlab-muster',
      keywords: [
        'slurm',
        'pbs',
        'sge',
        'lsf',
        'htcondor',
        'oar',
        'flux',
        'mpi',
        'hpc'
      ],
      license: own.license,
      author: own.author,
      homepage: own.homepage,
      bugs: own.bugs,
      repository: own.repository,
      type: 'module',
      exports: {
        '.': entry,
        './backends': entry,
        './package.json': './package.json'
      },
      types: './lib/backends/index.d.ts',
      sideEffects: false,
      engines: { node: '>=22' },
      files: ['lib', 'examples'],
      dependencies
    },
    null,
    2
  )}\n`
);
copyFileSync(join(root, 'LICENSE'), join(target, 'LICENSE'));
// Its links lead to files that are not in this package.
writeFileSync(
  join(target, 'README.md'),
  readFileSync(join(root, 'docs', 'library.md'), 'utf8')
    .replaceAll('](library/workflow.mjs)', '](examples/workflow.mjs)')
    .replaceAll(
      '](batch-systems/)',
      `](${own.homepage}/tree/main/docs/batch-systems)`
    )
);
mkdirSync(join(target, 'examples'), { recursive: true });
copyFileSync(
  join(root, 'docs', 'library', 'workflow.mjs'),
  join(target, 'examples', 'workflow.mjs')
);
