/**
 * The text of `jupyterlab_muster/pool.py`. In the bundle it is a string inside it: an upgrade that
 * replaces the package's files under a running bridge cannot change it. From source it is read.
 */
import { readFileSync } from 'node:fs';

declare const MUSTER_POOL_PROGRAM: string | undefined;

export const poolProgram =
  typeof MUSTER_POOL_PROGRAM === 'undefined'
    ? readFileSync(
        new URL('../../jupyterlab_muster/pool.py', import.meta.url),
        'utf8'
      )
    : MUSTER_POOL_PROGRAM;
