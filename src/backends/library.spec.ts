import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { BUILT_IN } from './batch/systems.js';
import { launchers as all } from './launchers/index.js';
import {
  allocation,
  LAUNCHER_NAMES,
  launchers,
  shellLine,
  SYSTEM_NAMES,
  systems
} from './index.js';

describe('the library', () => {
  it('has every batch system and every launcher that there is', () => {
    expect([...SYSTEM_NAMES]).toEqual([...BUILT_IN.keys()]);
    expect(Object.keys(systems)).toEqual([...BUILT_IN.keys()]);
    expect([...LAUNCHER_NAMES]).toEqual([...all.keys()]);
    expect(Object.keys(launchers)).toEqual([...all.keys()]);
  });

  it('its page shows the very example that the tests run', () => {
    const docs = new URL('../../docs/', import.meta.url);
    const page = readFileSync(new URL('library.md', docs), 'utf8');
    const example = readFileSync(new URL('library/workflow.mjs', docs), 'utf8');
    expect(page).toContain(`\n\`\`\`js\n${example}\`\`\`\n`);
  });

  it('any launcher can stand in the script of any batch system it works in', () => {
    for (const [name, system] of Object.entries(systems)) {
      const [kind] = allocation.ALLOCATION_KINDS.filter(one => one === name);
      if (kind === undefined) {
        throw new Error(`${name} is no kind of allocation`);
      }
      let rendered = 0;
      for (const launcher of Object.values(launchers)) {
        if (launcher.cannotWorkIn(kind) === null) {
          const launch = launcher.launchCommand({}, ['./program', "it's"], {
            scheduler: kind
          });
          const spec = system.job({ tasks: 1, walltimeSeconds: 600 });
          const script = system.renderScript(spec, shellLine(launch));
          expect(script).toContain("./program 'it'\\''s'");
          rendered += 1;
        }
      }
      // Open MPI, MPICH, Intel MPI and none at least.
      expect(rendered).toBeGreaterThan(3);
    }
  });
});
