/** The "New cluster" dialog as a person fills it. */
import {
  afterEach,
  beforeEach,
  describe,
  expect,
  it,
  jest
} from '@jest/globals';
import {
  act,
  cleanup,
  fireEvent,
  render,
  screen,
  within
} from '@testing-library/react';
import type { ClusterView, EnvironmentView } from '../../../protocol/index.js';
import { ANALYSIS, backend, GIB, view } from '../../fixtures/cluster-views.js';
import { settle } from '../../fixtures/fake-bridge.js';
import { FakeNotebook, Stage } from '../../fixtures/muster.js';
import { NewClusterForm } from './form.js';
import type { NewClusterStart } from './first-draft.js';

let stage: Stage;
let created: ClusterView[];
const cancelled = jest.fn();

const environment = (part: Partial<EnvironmentView>): EnvironmentView => ({
  python: '/opt/env/bin/python',
  name: 'python3',
  source: 'kernelspec',
  kernelspec: 'python3',
  displayName: 'Python 3',
  pythonVersion: '3.11',
  dask: '2026.8.0',
  distributed: '2026.8.0',
  usable: true,
  whyNot: null,
  ...part
});
const SLURM = backend({
  name: 'slurm',
  title: 'Slurm',
  capabilities: {
    ...backend().capabilities,
    gpus: true,
    schedulerPlacement: ['bridge', 'job']
  },
  specSchema: {
    type: 'object',
    properties: {
      qos: { type: 'string' },
      queue: { type: 'string', title: 'Partition', enum: ['cpu', 'gpu'] },
      account: { type: 'string' },
      walltime: {
        anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }]
      },
      exclusive: { type: 'boolean' },
      nativeLines: { type: 'array', items: { type: 'string' } }
    },
    required: ['account']
  }
});

const open = async (
  start: Partial<NewClusterStart> = {},
  canSaveProfiles = true
): Promise<void> => {
  await stage.show([view()]);
  render(
    stage.wrap(
      <NewClusterForm
        start={{ backend: null, profile: null, from: null, ...start }}
        backends={[
          backend({ host: { cores: 8, memory: 32 * GIB } }),
          SLURM,
          backend({
            name: 'pbs',
            title: 'PBS',
            available: false,
            reason: 'qsub is not on this host.'
          })
        ]}
        profiles={[
          {
            name: 'night',
            source: 'user',
            spec: {
              backend: 'slurm',
              groups: [
                {
                  name: 'gpu',
                  worker: { cores: 4, memory: '16 GiB', gpus: 1 },
                  workersPerJob: 2,
                  scale: { type: 'adaptive', maximum: { memory: '1TB' } },
                  options: { queue: 'gpu', account: 'chem' }
                }
              ],
              lifetime: { idleTimeout: 5400 }
            }
          }
        ]}
        environments={[
          environment({
            python: '/old/python',
            name: 'old',
            kernelspec: 'old',
            displayName: 'Old',
            usable: false,
            whyNot: 'dask is not installed',
            distributed: null,
            dask: null
          }),
          environment({}),
          environment({
            python: '/mine/python',
            kernelspec: 'mine',
            displayName: 'Mine'
          })
        ]}
        canSaveProfiles={canSaveProfiles}
        onCreated={one => created.push(one)}
        onCancel={cancelled}
      />
    )
  );
};
const button = (name: string): HTMLButtonElement =>
  screen.getByRole('button', { name });
const field = (name: string): HTMLInputElement =>
  screen.getByRole('textbox', { name });
const type = (name: string, value: string): void => {
  fireEvent.change(field(name), { target: { value } });
};
const click = async (name: string): Promise<void> => {
  await act(async () => {
    fireEvent.click(button(name));
    await settle();
  });
};
const sent = (): Record<string, never> =>
  stage.bridge.asked.at(-1)?.body as Record<string, never>;

beforeEach(() => {
  stage = new Stage();
  created = [];
  stage.bridge.answer('POST', 'api/v1/clusters', {
    status: 202,
    body: view({
      id: 'c3v9qx7m2d8tn4rc' as never,
      name: 'new',
      phase: 'creating'
    })
  });
});
afterEach(() => {
  cleanup();
  stage.dispose();
});

describe('a new cluster', () => {
  it('begins as Dask would cut this host, and is created by one click', async () => {
    await open();
    expect(screen.getByRole('contentinfo').textContent).toContain(
      '4 workers on This computer'
    );
    await click('Create');
    expect(sent()).toMatchObject({
      backend: 'local',
      groups: [
        {
          worker: { cores: 2, memory: '8 GiB' },
          scale: { type: 'fixed', workers: 4 }
        }
      ]
    });
    expect(created.map(one => one.name)).toEqual(['new']);
    expect(stage.model.selected).toBe('c3v9qx7m2d8tn4rc');
  });

  it('runs in the active notebook’s environment (B3)', async () => {
    const notebook = new FakeNotebook();
    notebook.kernelspec = 'mine';
    stage.service.setNotebookHooks(notebook);
    await open();
    expect(
      screen.getByRole<HTMLSelectElement>('combobox', { name: 'Environment' })
        .selectedOptions[0]?.textContent
    ).toBe('Mine · Python 3.11 · dask 2026.8.0 · this notebook');
    await click('Create');
    expect(sent()).toMatchObject({ environment: { kernelspec: 'mine' } });
  });

  it('warns where the workers would have other versions than the notebook (B3)', async () => {
    const notebook = new FakeNotebook();
    notebook.kernelspec = 'old';
    stage.service.setNotebookHooks(notebook);
    await open();
    fireEvent.change(screen.getByRole('combobox', { name: 'Environment' }), {
      target: { value: 'spec:mine' }
    });
    expect(
      screen.getByText(
        'This notebook has Python 3.11, dask none; the workers would have Python 3.11, dask 2026.8.0.'
      )
    ).toBeTruthy();
    notebook.kernelspec = 'python3';
    type('Name', 'other');
    expect(screen.queryByText(/^This notebook has/)).toBeNull();
  });

  it('cannot take an environment without dask, and says why', async () => {
    await open();
    const option = screen.getByRole<HTMLOptionElement>('option', {
      name: /^Old/
    });
    expect(option.disabled).toBe(true);
    expect(option.textContent).toContain('dask is not installed');
  });

  it('cannot be put where it cannot run, and says why', async () => {
    await open();
    const places = screen.getByRole('navigation', { name: 'Where to run' });
    expect(
      within(places).getByRole<HTMLButtonElement>('button', { name: 'PBS' })
        .disabled
    ).toBe(true);
    expect(places.textContent).toContain('qsub is not on this host.');
  });

  it.each([
    ['Memory of group default', 'lots', "default: memory 'lots' is not a size"],
    ['Cores of group default', '0', 'default: cores must be 1 or more'],
    [
      'Cores of group default',
      '',
      'default: cores must be a whole number of cores'
    ],
    ['Size of group default', '-5', 'must be 0 or more'],
    [
      'Size of group default',
      '',
      'default: size must be a whole number of workers'
    ],
    ['Name', 'No Good', 'name must begin with a letter'],
    ['Name', 'analysis', 'name is the name of another cluster']
  ])(
    'marks %j = %j at once, and Create says why it waits (W10)',
    async (name, value, problem) => {
      await open();
      type(name, value);
      expect(field(name).getAttribute('aria-invalid')).toBe('true');
      expect(button('Create').disabled).toBe(true);
      expect(button('Create').title).toContain(problem);
      expect(screen.getByRole('contentinfo').textContent).toContain(problem);
    }
  );

  it('blocks a minimum above the maximum (W10: adapt 9…2)', async () => {
    await open();
    fireEvent.click(screen.getByRole('radio', { name: 'Adaptive' }));
    type('Minimum of group default', '9');
    type('Maximum of group default', '2');
    expect(button('Create').disabled).toBe(true);
    expect(button('Create').title).toContain(
      'the minimum (9) is above the maximum (2)'
    );
  });

  it('adapts between sizes said in different units, rounded so that the maximum is never exceeded', async () => {
    await open();
    fireEvent.click(screen.getByRole('radio', { name: 'Adaptive' }));
    type('Maximum of group default', '100 GB');
    expect(screen.getByRole('contentinfo').textContent).toContain(
      'Up to 11 workers'
    );
    await click('Create');
    expect(sent()).toMatchObject({
      groups: [
        {
          scale: {
            type: 'adaptive',
            minimum: { workers: 0 },
            maximum: { memory: 1e11 }
          }
        }
      ]
    });
  });

  it('is written to once, also when Create is pressed again after a lost answer (W20)', async () => {
    await open();
    stage.bridge.isOffline = true;
    await click('Create');
    expect(screen.getByRole('contentinfo').textContent).toContain(
      'The Jupyter server does not answer.'
    );
    expect(button('Create').disabled).toBe(false);
    stage.bridge.isOffline = false;
    stage.bridge.answer('POST', 'api/v1/clusters', {
      status: 500,
      body: { error: { code: 'internal', message: 'oops' } }
    });
    await click('Create');
    await click('Create');
    const keys = stage.bridge.asked
      .filter(one => one.method === 'POST')
      .map(one => one.headers.get('Idempotency-Key'));
    expect(new Set(keys).size).toBe(1);
    type('Name', 'other');
    await click('Create');
    expect(stage.bridge.asked.at(-1)?.headers.get('Idempotency-Key')).not.toBe(
      keys[0]
    );
  });

  it('shows the server’s refusal at the field it names, until that is changed', async () => {
    await open({ backend: 'slurm' });
    type('Account *', 'nobody');
    stage.bridge.answer('POST', 'api/v1/clusters', {
      status: 422,
      body: {
        error: {
          code: 'submit-rejected',
          message: 'sbatch: Invalid account',
          path: 'groups[0].options.account'
        }
      }
    });
    await click('Create');
    expect(field('Account *').getAttribute('aria-invalid')).toBe('true');
    expect(screen.getByRole('contentinfo').textContent).toContain(
      'sbatch: Invalid account'
    );
    expect(created).toEqual([]);
    type('Account *', 'chem');
    expect(field('Account *').getAttribute('aria-invalid')).toBe('false');
  });
});

describe('a backend’s own options', () => {
  it('come from its schema: required and common first, the rest folded', async () => {
    await open({ backend: 'slurm' });
    const section = screen.getByRole('region', { name: 'Slurm' });
    const labels = [...section.querySelectorAll('label')].map(
      label => label.textContent
    );
    expect(labels.slice(0, 3)).toEqual(['Account *', 'Partition', 'Walltime']);
    const more = section.querySelector('details');
    expect(more?.open).toBe(false);
    expect(more?.querySelector('summary')?.textContent).toBe(
      'More: Qos, Exclusive, Native lines'
    );
  });

  it('are sent as their types, and left out where empty', async () => {
    await open({ backend: 'slurm' });
    type('Account *', 'chem');
    type('Walltime', '2:00:00');
    fireEvent.change(screen.getByRole('combobox', { name: 'Partition' }), {
      target: { value: '1' }
    });
    fireEvent.change(
      screen.getByRole('textbox', { name: 'Native lines', hidden: true }),
      { target: { value: '#SBATCH a\n#SBATCH b' } }
    );
    expect(screen.getByRole('contentinfo').textContent).toContain(
      '1 worker on gpu, 2:00:00 each'
    );
    await click('Create');
    expect(sent()).toMatchObject({
      backend: 'slurm',
      groups: [
        {
          options: {
            account: 'chem',
            walltime: '2:00:00',
            queue: 'gpu',
            nativeLines: ['#SBATCH a', '#SBATCH b']
          }
        }
      ]
    });
    expect(
      (sent() as unknown as { groups: { options: object }[] }).groups[0]
        ?.options
    ).not.toHaveProperty('qos');
  });
});

describe('a beginning', () => {
  it('can be a profile: its fields fill the form, and it is named in the request', async () => {
    await open();
    fireEvent.click(button('night'));
    expect(field('Memory of group gpu').value).toBe('16 GiB');
    expect(field('Maximum of group gpu').value).toBe('1TB');
    expect(field('When idle').value).toBe('90 m');
    await click('Create');
    expect(sent()).toMatchObject({
      profile: 'night',
      backend: 'slurm',
      groups: [{ workersPerJob: 2, options: { queue: 'gpu', account: 'chem' } }]
    });
  });

  it('can be another cluster, under a new name', async () => {
    await open({ from: view({ options: { account: 'chem' } }) });
    expect(field('Name').value).toBe('');
    expect(field('Cores of group default').value).toBe('2');
    await click('Create');
    expect(sent()).toMatchObject({
      backend: 'slurm',
      environment: { python: '/opt/env/bin/python' }
    });
    expect(stage.model.get(ANALYSIS)).toBeDefined();
  });

  it('cannot be kept as a profile where the bridge keeps none, and is not offered to be', async () => {
    await open({}, false);
    expect(
      screen.queryByRole('button', { name: 'Save as profile' })
    ).toBeNull();
  });

  it('can be kept as a profile', async () => {
    await open();
    stage.bridge.answer('PUT', 'api/v1/profiles/mine', { body: {} });
    await click('Save as profile');
    type('Name of the profile', 'mine');
    await click('Save');
    expect(stage.bridge.asked.at(-1)).toMatchObject({
      method: 'PUT',
      path: 'api/v1/profiles/mine'
    });
    expect(sent()).toMatchObject({ backend: 'local' });
    expect(screen.getByRole('contentinfo').textContent).toContain(
      'Saved as mine.'
    );
  });
});

describe('the preview', () => {
  it('shows the exact script and what will not be honoured, and starts nothing', async () => {
    await open();
    stage.bridge.answer('POST', 'api/v1/preview', {
      body: {
        summary: '2 jobs',
        jobs: [
          {
            group: 'default',
            count: 2,
            workers: 4,
            argv: ['sbatch', '--wrap', "it's"],
            script: '#SBATCH -p gpu',
            environment: { A: '1' },
            notHonoured: ['gpus: this system has none'],
            warnings: []
          }
        ]
      }
    });
    await click('Preview');
    const preview = screen.getByRole('region', { name: 'What would be run' });
    expect(preview.textContent).toContain('#SBATCH -p gpu');
    expect(preview.textContent).toContain("sbatch --wrap 'it'\\''s'");
    expect(preview.textContent).toContain('gpus: this system has none');
    expect(stage.bridge.count('POST', 'api/v1/clusters')).toBe(0);
    await click('Back');
    expect(
      screen.queryByRole('region', { name: 'What would be run' })
    ).toBeNull();
  });

  it('drops an answer to what was asked before the last change (W19)', async () => {
    await open();
    let answer: (() => void) | undefined;
    stage.bridge.answer(
      'POST',
      'api/v1/preview',
      () =>
        new Promise(resolve => {
          answer = () => {
            resolve({ body: { summary: 'stale', jobs: [] } });
          };
        })
    );
    await click('Preview');
    type('Name', 'changed');
    await act(async () => {
      answer?.();
      await settle();
    });
    expect(screen.queryByText('stale')).toBeNull();
  });
});
