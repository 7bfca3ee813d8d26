/**
 * Is the database really ours alone? Asked of another process, because a process never sees its own
 * lock missing: closing any descriptor of the file drops it silently (R9), and some mounts do not
 * lock at all (R10).
 */
import { execFile } from 'node:child_process';

export type ExclusiveCheck =
  | { type: 'exclusive' }
  /** Another process could read it: the lock is gone or was never real. */
  | { type: 'shared'; message: string }
  /** The question could not be asked. */
  | { type: 'unknown'; message: string };

const CHILD = `
const { DatabaseSync } = require('node:sqlite');
let database;
try {
  database = new DatabaseSync(process.argv[1], { readOnly: true });
  database.prepare('SELECT count(*) FROM sqlite_schema').get();
  process.stdout.write('readable');
} catch (error) {
  process.stdout.write(error.errcode === 5 ? 'busy' : 'error ' + error.errcode + ' ' + error.message);
}
`;

/**
 * A child process opens the database read-only and must get SQLITE_BUSY. Run it between
 * transactions: a reader without a lock would meet a half-written file.
 * @param nodePath the Node binary, usually process.execPath.
 */
export function checkExclusive(
  file: string,
  nodePath: string
): Promise<ExclusiveCheck> {
  return new Promise(resolve => {
    execFile(
      nodePath,
      ['--disable-warning=ExperimentalWarning', '-e', CHILD, file],
      { timeout: 20_000, env: {}, encoding: 'utf8' },
      (error, stdout, stderr) => {
        if (stdout === 'busy') {
          resolve({ type: 'exclusive' });
        } else if (stdout === 'readable') {
          resolve({
            type: 'shared',
            message: `another process could open ${file} although this bridge holds its exclusive lock`
          });
        } else {
          resolve({
            type: 'unknown',
            message: `the self-check of ${file} could not be made: ${
              stdout !== '' ? stdout : (error?.message ?? stderr)
            }`
          });
        }
      }
    );
  });
}
