/** One of our TypeScript programs as one file in a temporary folder, bundled as the bridge is. */
import { build } from 'esbuild';

export async function bundle(entry, outfile) {
  await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    outfile,
    logLevel: 'error',
    banner: {
      js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);"
    }
  });
}
