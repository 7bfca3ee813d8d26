/** Host files in the forms launchers read; each refuses or misreads those of the others. */
import type { LaunchHost } from './launch-spec.js';
import type { HostFileForm } from './launcher.js';

export function hostFileText(
  hosts: readonly LaunchHost[],
  form: HostFileForm
): string {
  const lines = hosts.flatMap(({ host, slots }) => {
    const many = slots ?? 1;
    switch (form) {
      case 'slots':
        return [`${host} slots=${many}`];
      case 'colon':
        return [`${host}:${many}`];
      case 'repeated':
        return Array.from({ length: many }, () => host);
      case 'distinct':
        return [host];
    }
  });
  return `${lines.join('\n')}\n`;
}
