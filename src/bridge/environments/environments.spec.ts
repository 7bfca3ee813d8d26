import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  chmod,
  mkdir,
  mkdtemp,
  rm,
  symlink,
  utimes,
  writeFile
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environmentSchema } from '../../protocol/index.js';
import type { Kernelspec } from '../../protocol/index.js';
import { EnvironmentCatalog } from './environment-catalog.js';
import type { InterpreterFacts } from './interpreter-probe.js';
import { probeInterpreter } from './interpreter-probe.js';
import { searchInterpreters } from './interpreter-search.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster env '));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function program(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  await chmod(path, 0o755);
  return path;
}

const PYTHON = execFileSync(
  'python',
  ['-c', 'import sys; print(sys.executable)'],
  { encoding: 'utf8' }
).trim();

describe('an interpreter', () => {
  test('with Dask is usable, and says the versions Dask itself says', async () => {
    const facts = await probeInterpreter(PYTHON);
    const said = JSON.parse(
      execFileSync(
        PYTHON,
        [
          '-c',
          'import dask, distributed, msgpack, json, platform; print(json.dumps([platform.python_version(), dask.__version__, distributed.__version__, ".".join(map(str, msgpack.version))]))'
        ],
        { encoding: 'utf8' }
      )
    ) as string[];
    expect([
      facts.pythonVersion,
      facts.dask,
      facts.distributed,
      facts.packages['msgpack']
    ]).toEqual(said);
    expect([facts.usable, facts.whyNot]).toEqual([true, null]);
    expect(facts.siteFolders.length).toBeGreaterThan(0);
  });

  test('without Dask is not, and the sentence mends it when it is pasted', async () => {
    const venv = join(folder, 'bare venv');
    execFileSync(PYTHON, ['-m', 'venv', '--without-pip', venv]);
    const python = join(venv, 'bin', 'python');
    const facts = await probeInterpreter(python);
    expect(facts.usable).toBe(false);
    expect(facts.pythonVersion).toMatch(/^3\.\d+\.\d+$/);
    expect(facts.whyNot).toBe(
      `dask and distributed are not installed in ${python}: '${python}' -m pip install 'dask[distributed]'`
    );
  });

  test('that is not there, not a file, not allowed or not Python says which', async () => {
    const plain = join(folder, 'plain');
    await writeFile(plain, 'x');
    const cases: [string, RegExp][] = [
      ['/no/such/python', /^there is no \/no\/such\/python on this host$/],
      [folder, /is not a file$/],
      [
        await program('other', '#!/bin/sh\necho hello\n'),
        /is not a Python interpreter$/
      ],
      [
        await program(
          'broken',
          '#!/bin/sh\necho "libpython3.so: cannot open" >&2\nexit 127\n'
        ),
        /ended with code 127: libpython3\.so: cannot open$/
      ],
      [
        await program('killed', '#!/bin/sh\nkill -9 $$\n'),
        /ended with SIGKILL$/
      ],
      [await program('nointerpreter', '#!/no/such/sh\n'), /cannot be run/]
    ];
    for (const [python, why] of cases) {
      const facts = await probeInterpreter(python);
      expect([python, facts.usable, facts.whyNot]).toEqual([
        python,
        false,
        expect.stringMatching(why)
      ]);
    }
  });

  test('that hangs is given up at the deadline and does not stay', async () => {
    const marker = join(folder, 'pid');
    const python = await program(
      'hangs',
      `#!/bin/sh\necho $$ > '${marker}'\nexec sleep 1000\n`
    );
    const facts = await probeInterpreter(python, { deadlineMs: 300 });
    expect(facts.whyNot).toBe(`${python} did not answer within 0.3 s`);
    const pid = Number(execFileSync('cat', [marker], { encoding: 'utf8' }));
    for (;;) {
      try {
        process.kill(pid, 0);
      } catch {
        break;
      }
      await new Promise(resolve => setTimeout(resolve, 10));
    }
  });

  test('that floods its output is cut, not collected', async () => {
    const python = await program(
      'floods',
      '#!/bin/sh\nhead -c 20000000 /dev/zero | tr "\\0" x\n'
    );
    expect((await probeInterpreter(python)).whyNot).toMatch(
      /is not a Python interpreter/
    );
  });
});

describe('the search', () => {
  test('finds conda environments and virtual environments, each once', async () => {
    const make = async (...path: string[]) => {
      const bin = join(folder, ...path, 'bin');
      await mkdir(bin, { recursive: true });
      await symlink(PYTHON, join(bin, 'python'));
    };
    await make('miniforge3');
    await mkdir(join(folder, 'miniforge3', 'conda-meta'));
    await make('miniforge3', 'envs', 'science');
    await mkdir(join(folder, 'miniforge3', 'envs', 'science', 'conda-meta'));
    await make('miniforge3', 'envs', 'not-conda');
    await make('.virtualenvs', 'web');
    await make('project', '.venv');
    await mkdir(join(folder, '.conda'));
    await writeFile(
      join(folder, '.conda', 'environments.txt'),
      `${join(folder, 'miniforge3')}\n/gone/env\nrelative\n`
    );
    const found = await searchInterpreters(
      { VIRTUAL_ENV: join(folder, 'project', '.venv') },
      folder
    );
    expect(found.map(({ name, source }) => `${source} ${name}`)).toEqual([
      'venv project/.venv',
      'venv web',
      'conda miniforge3',
      'conda science'
    ]);
  });

  test('of an empty home finds nothing', async () => {
    expect(await searchInterpreters({}, folder)).toEqual([]);
  });
});

describe('the catalog', () => {
  const facts = (
    python: string,
    change: Partial<InterpreterFacts> = {}
  ): InterpreterFacts => ({
    python,
    pythonVersion: '3.12.1',
    dask: '2026.8.0',
    distributed: '2026.8.0',
    usable: true,
    whyNot: null,
    packages: {},
    siteFolders: [folder],
    ...change
  });
  const kernelspec = (
    name: string,
    python: string | null,
    language = 'python'
  ): Kernelspec => ({
    name,
    displayName: `${name} display`,
    language,
    python
  });
  const environment = (said: object) => environmentSchema.parse(said);

  function catalog(change: { usable?: boolean; now?: () => number } = {}) {
    const asked: string[] = [];
    return {
      asked,
      catalog: new EnvironmentCatalog({
        python: '/bridge/python',
        clients: {
          kernelspecs: [
            kernelspec('z', '/z/python'),
            kernelspec('ir', null, 'R'),
            kernelspec('a', '/a/python')
          ]
        },
        probe: python => {
          asked.push(python);
          return Promise.resolve(
            facts(
              python,
              change.usable === false
                ? { usable: false, whyNot: 'dask is not installed' }
                : {}
            )
          );
        },
        search: () =>
          Promise.resolve([
            { python: '/v/python', name: 'v', source: 'venv' },
            { python: '/z/python', name: 'z', source: 'conda' }
          ]),
        ...(change.now === undefined ? {} : { now: change.now })
      })
    };
  }

  test('lists kernelspecs, the bridge’s own and what was found, no interpreter twice', async () => {
    const views = await catalog().catalog.list();
    expect(
      views.map(view => `${view.source} ${view.name} ${view.python}`)
    ).toEqual([
      'kernelspec a /a/python',
      'kernelspec z /z/python',
      'bridge default /bridge/python',
      'venv v /v/python'
    ]);
  });

  test('asks an interpreter once, and again when a package was installed', async () => {
    const { catalog: one, asked } = catalog();
    await Promise.all([
      one.resolve(environment({})),
      one.resolve(environment({}))
    ]);
    await one.resolve(environment({}));
    expect(asked).toEqual(['/bridge/python']);
    await utimes(folder, new Date(), new Date(Date.now() + 5000));
    await one.resolve(environment({}));
    expect(asked).toEqual(['/bridge/python', '/bridge/python']);
  });

  test('believes a failure for moments only', async () => {
    let now = 0;
    const { catalog: one, asked } = catalog({ usable: false, now: () => now });
    for (const at of [0, 1000, 20_000]) {
      now = at;
      await expect(one.resolve(environment({}))).rejects.toThrow(
        'dask is not installed'
      );
    }
    expect(asked).toHaveLength(2);
  });

  test('B3: takes the interpreter of the kernelspec, or the one that is said', async () => {
    const { catalog: one } = catalog();
    expect(await one.resolve(environment({ kernelspec: 'z' }))).toMatchObject({
      python: '/z/python',
      kernelspec: 'z',
      displayName: 'z display'
    });
    expect(
      await one.resolve(environment({ python: '/other/python' }))
    ).toMatchObject({ python: '/other/python', kernelspec: null });
    expect(
      await one.resolve(environment({ python: '/a/python' }))
    ).toMatchObject({ kernelspec: 'a' });
    expect(await one.resolve(undefined)).toMatchObject({
      python: '/bridge/python',
      source: 'bridge'
    });
  });

  test('an unknown kernelspec is refused with those there are; one of another language too', async () => {
    const { catalog: one } = catalog();
    await expect(
      one.resolve(environment({ kernelspec: 'nope' }))
    ).rejects.toMatchObject({
      code: 'spec-invalid',
      path: 'environment.kernelspec',
      hint: 'one of: z, a'
    });
    await expect(
      one.resolve(environment({ kernelspec: 'ir' }))
    ).rejects.toMatchObject({
      message: expect.stringContaining('(R) has no Python interpreter')
    });
  });

  test('B3: an environment without Dask fails at once, naming the field', async () => {
    const { catalog: one } = catalog({ usable: false });
    await expect(
      one.resolve(environment({ kernelspec: 'z' }))
    ).rejects.toMatchObject({
      code: 'spec-invalid',
      path: 'environment.kernelspec',
      message: 'environment.kernelspec: dask is not installed'
    });
  });

  test('a bridge that was told no Python asks for one', async () => {
    const one = new EnvironmentCatalog({
      python: null,
      clients: { kernelspecs: [] },
      search: () => Promise.resolve([])
    });
    await expect(one.resolve(undefined)).rejects.toMatchObject({
      path: 'environment.python'
    });
    expect(await one.list()).toEqual([]);
  });
});
