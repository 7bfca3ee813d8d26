/** A launch as one line of a POSIX shell script, for people and job scripts. */
import { shellWord } from '../batch/quoting.js';
import type { Launch } from './launcher.js';

/** `NAME='value' program 'argument' …`; a host file of the batch system by its variable. */
export function shellLine(launch: Launch): string {
  const { hostFile } = launch;
  const variables = Object.entries(launch.env).map(
    ([name, value]) => `${name}=${shellWord(value)}`
  );
  const at =
    hostFile?.variable === null || hostFile === null
      ? -1
      : launch.argv.indexOf(hostFile.path);
  const words = launch.argv.map((one, index) =>
    index === at && hostFile?.variable !== null && hostFile !== null
      ? `"$${hostFile.variable}"`
      : shellWord(one)
  );
  return [...variables, ...words].join(' ');
}
