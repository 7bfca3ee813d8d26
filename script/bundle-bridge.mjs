/**
 * Bundles the bridge into jupyterlab_muster/bridge/: `bridge.mjs` (a few lines that switch the
 * compile cache on), the daemon and the command, each under a name with its content's hash. The
 * notice of the libraries inside is made from what really went in.
 *
 * Usage: node script/bundle-bridge.mjs [--no-minify]
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const output = join(root, 'jupyterlab_muster', 'bridge');
const { version } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8')
);

// ws and ssh2 are CommonJS: they want require, __filename and __dirname.
const banner = [
  "import { createRequire as __createRequire } from 'node:module';",
  'const require = __createRequire(import.meta.url);',
  'const __filename = import.meta.filename;',
  'const __dirname = import.meta.dirname;'
].join(' ');

/**
 * An `import` of node:http reads each of its exports, and one of them loads undici: 20 ms of every
 * start. Read through `require`, only what is used is loaded.
 */
const plainHttp = {
  name: 'plain-http',
  setup(build) {
    build.onResolve({ filter: /^node:https?$/ }, ({ path }) => ({
      path,
      namespace: 'plain-http'
    }));
    build.onLoad({ filter: /.*/, namespace: 'plain-http' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`
    }));
  }
};

/** The daemon, and apart from it the command, which has to start in a blink. */
const PROGRAMS = {
  program: 'src/bridge/index.ts',
  cli: 'src/bridge/cli/index.ts'
};

const result = await build({
  absWorkingDir: root,
  entryPoints: PROGRAMS,
  outdir: 'jupyterlab_muster/bridge',
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  target: 'node22',
  format: 'esm',
  banner: { js: banner },
  // ssh2's optional addons: it works without them, and we ship none.
  external: ['cpu-features', '*.node'],
  minify: !process.argv.includes('--no-minify'),
  keepNames: true,
  legalComments: 'none',
  sourcemap: 'external',
  metafile: true,
  plugins: [plainHttp],
  write: false,
  logLevel: 'warning',
  define: {
    MUSTER_VERSION: JSON.stringify(version),
    MUSTER_POOL_PROGRAM: JSON.stringify(
      readFileSync(join(root, 'jupyterlab_muster', 'pool.py'), 'utf8')
    )
  }
});

const outputs = Object.fromEntries(
  Object.keys(PROGRAMS).map(kind => {
    const file = result.outputFiles.find(one =>
      one.path.endsWith(`/${kind}.mjs`)
    );
    const map = result.outputFiles.find(one =>
      one.path.endsWith(`/${kind}.mjs.map`)
    );
    if (file === undefined || map === undefined) {
      throw new Error(`esbuild wrote no ${kind}`);
    }
    const hash = createHash('sha256')
      .update(file.contents)
      .digest('hex')
      .slice(0, 12);
    return [
      kind,
      {
        name: `${kind}-${hash}.mjs`,
        contents: file.contents,
        map: map.contents
      }
    ];
  })
);

// Code V8 has compiled once is kept in the user's own cache folder. Never in the shared temporary
// folder, Node's default: whoever can write there could give us code to run.
const entry = `${'// Muster ' + version + ': the bridge and the muster command.'}
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
if (process.argv[2] === '--version') {
  process.stdout.write(${JSON.stringify(version + '\n')});
} else {
  const cache = process.env.XDG_CACHE_HOME;
  try {
    enableCompileCache(join(cache !== undefined && isAbsolute(cache) ? cache : join(homedir(), '.cache'), 'muster', 'node'));
  } catch {}
  try {
    if (process.argv[2] === 'cli') {
      const { runCli } = await import('./${outputs.cli.name}');
      process.exitCode = await runCli(process.argv.slice(3));
    } else {
      await import('./${outputs.program.name}');
    }
  } catch (error) {
    if (error?.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    process.stderr.write('Muster was upgraded while this started: start it again\\n');
    process.exitCode = 1;
  }
}
`;

mkdirSync(output, { recursive: true });
const notice = noticeOf(result.metafile);
for (const { name, contents } of Object.values(outputs)) {
  writeFileSync(join(output, name), contents);
}
writeFileSync(join(output, 'THIRD-PARTY-NOTICES.txt'), notice.text);
// The entry last: a bridge started meanwhile finds the old entry with the old programs, or the new.
writeFileSync(join(output, 'bridge.mjs'), entry);
const current = new Set(Object.values(outputs).map(({ name }) => name));
for (const old of readdirSync(output)) {
  if (
    /^(program|cli)(-[0-9a-f]+)?\.mjs(\.map)?$/.test(old) &&
    !current.has(old)
  ) {
    rmSync(join(output, old));
  }
}
// For reading crash logs of a build; not part of the wheel.
mkdirSync(join(root, 'dist'), { recursive: true });
for (const { name, contents, map } of Object.values(outputs)) {
  writeFileSync(join(root, 'dist', `${name}.map`), map);
  process.stdout.write(
    `jupyterlab_muster/bridge/${name}: ${(contents.length / 1e6).toFixed(2)} MB\n`
  );
}
process.stdout.write(`${notice.count} libraries in it\n`);

/** Every package with a file in the bundle: its name, version, licence and licence text. */
function noticeOf(metafile) {
  const folders = new Set();
  const inputs = Object.values(metafile.outputs).flatMap(one =>
    Object.entries(one.inputs).filter(([, input]) => input.bytesInOutput > 0)
  );
  for (const [path] of inputs) {
    const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path);
    if (match !== null) {
      folders.add(match[1]);
    }
  }
  const packages = [...folders]
    .map(folder => {
      const facts = JSON.parse(
        readFileSync(join(root, folder, 'package.json'), 'utf8')
      );
      const licence =
        typeof facts.license === 'string'
          ? facts.license
          : (facts.license?.type ??
            facts.licenses?.map(one => one.type).join(' OR '));
      if (licence === undefined) {
        throw new Error(`${folder} says no licence`);
      }
      return {
        name: facts.name,
        version: facts.version,
        licence,
        text: licenceText(folder)
      };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const text = packages
    .map(
      one =>
        `${'='.repeat(78)}\n${one.name} ${one.version} (${one.licence})\n\n${one.text}\n`
    )
    .join('\n');
  return {
    count: packages.length,
    text: `The bridge of Muster contains these libraries.\n\n${text}`
  };
}

function licenceText(folder) {
  const file = readdirSync(join(root, folder))
    .sort()
    .find(
      name =>
        /^(licen[sc]e|copying)/i.test(name) &&
        existsSync(join(root, folder, name))
    );
  return file === undefined
    ? '(the package carries no licence file)'
    : readFileSync(join(root, folder, file), 'utf8').trim();
}
