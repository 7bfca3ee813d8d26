import { describe, expect, it } from '@jest/globals';
import {
  clientEnvironment,
  schedulerLaunch,
  workerLaunch,
  type SchedulerLaunchOptions,
  type WorkerLaunchOptions
} from './launch.js';
import { parseSchedulerFile } from './scheduler-file.js';

const TLS = {
  caFile: '/c/tls/ca.pem',
  certFile: '/c/tls/x.pem',
  keyFile: '/c/tls/x-key.pem'
};
const SCHEDULER: SchedulerLaunchOptions = {
  python: '/env/bin/python',
  host: '127.0.0.1',
  tls: TLS,
  schedulerFile: '/c/scheduler.json',
  idleTimeoutSeconds: 86_400
};
const WORKER: WorkerLaunchOptions = {
  python: '/env/bin/python',
  scheduler: { address: 'tls://127.0.0.1:1234' },
  name: '0123456789abcdef-0',
  nthreads: 2,
  memoryLimitBytes: 2_000_000_000,
  resources: { GPU: 1, MEM: 10e9 },
  localDirectory: '/scratch/c',
  deathTimeoutSeconds: 300,
  host: { address: '127.0.0.1' },
  tls: TLS,
  hashSeed: 6640
};

describe('a scheduler', () => {
  it('listens where it is told, encrypted, on a port of its own choice', () => {
    const { argv, environment } = schedulerLaunch(SCHEDULER);
    expect(argv.join(' ')).toBe(
      '/env/bin/python -m distributed.cli.dask_scheduler --host 127.0.0.1 --port 0 --protocol tls --scheduler-file /c/scheduler.json --dashboard --dashboard-address 127.0.0.1:0 --idle-timeout 86400 seconds'
    );
    expect(environment).toEqual({
      DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION: 'True',
      DASK_DISTRIBUTED__COMM__TLS__MIN_VERSION: '1.2',
      DASK_DISTRIBUTED__COMM__TLS__CA_FILE: '/c/tls/ca.pem',
      DASK_DISTRIBUTED__COMM__TLS__SCHEDULER__CERT: '/c/tls/x.pem',
      DASK_DISTRIBUTED__COMM__TLS__SCHEDULER__KEY: '/c/tls/x-key.pem',
      DASK_DISTRIBUTED__SCHEDULER__UNKNOWN_TASK_DURATION: '5s',
      DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES: '10'
    });
  });

  it('without encryption may listen on loopback only', () => {
    for (const host of ['127.0.0.1', '127.0.1.1', '::1', 'localhost']) {
      expect(schedulerLaunch({ ...SCHEDULER, tls: null, host }).argv).toContain(
        'tcp'
      );
    }
    for (const host of [
      '0.0.0.0',
      '10.0.0.1',
      '',
      '::',
      'localhost.evil.example',
      '127.evil'
    ]) {
      expect(() => schedulerLaunch({ ...SCHEDULER, tls: null, host })).toThrow(
        RangeError
      );
    }
  });

  it('without an end, without a dashboard, with preloads', () => {
    const { argv } = schedulerLaunch({
      ...SCHEDULER,
      idleTimeoutSeconds: null,
      dashboard: false,
      preload: ['a', 'b.py']
    });
    expect(argv).not.toContain('--idle-timeout');
    expect(argv).toContain('--no-dashboard');
    expect(argv).toContain('--dashboard-address');
    expect(argv.slice(-4)).toEqual(['--preload', 'a', '--preload', 'b.py']);
  });
});

describe('a worker', () => {
  it('is started without a nanny, with what a nanny would have set', () => {
    const { argv, environment } = workerLaunch(WORKER);
    expect(argv.join(' ')).toBe(
      '/env/bin/python -m distributed.cli.dask_worker tls://127.0.0.1:1234 --name 0123456789abcdef-0 --nworkers 1 --nthreads 2 --memory-limit 2000000000 --resources GPU=1 MEM=10000000000 --local-directory /scratch/c --death-timeout 300 --no-nanny --host 127.0.0.1 --no-dashboard --dashboard-address 127.0.0.1:0'
    );
    expect(environment).toMatchObject({
      OMP_NUM_THREADS: '1',
      MKL_NUM_THREADS: '1',
      OPENBLAS_NUM_THREADS: '1',
      MALLOC_TRIM_THRESHOLD_: '65536',
      PYTHONHASHSEED: '6640',
      DASK_DISTRIBUTED__COMM__TLS__WORKER__KEY: '/c/tls/x-key.pem',
      DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY: '/c/tls/x-key.pem'
    });
  });

  it('without limit, resources or encryption; from a file; on an interface; for a lifetime', () => {
    const { argv, environment } = workerLaunch({
      ...WORKER,
      scheduler: { file: '/c/scheduler.json' },
      memoryLimitBytes: null,
      resources: {},
      tls: null,
      host: { interface: 'ib0' },
      lifetimeSeconds: 3300
    });
    expect(argv.join(' ')).toContain('--scheduler-file /c/scheduler.json');
    expect(argv.join(' ')).toContain('--memory-limit 0');
    expect(argv.join(' ')).toContain('--interface ib0');
    expect(argv.join(' ')).toContain('--lifetime 3300 seconds');
    expect(argv).not.toContain('--resources');
    expect(argv).not.toContain('--host');
    expect(environment['DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION']).toBe(
      'False'
    );
  });

  it.each(['7', ' 7 ', '-3', '1_000', '+1'])(
    'may not be named "%s", which Dask reads as a number',
    name => {
      expect(() => workerLaunch({ ...WORKER, name })).toThrow(RangeError);
    }
  );
});

it('no key material is on any command line', () => {
  for (const { argv } of [schedulerLaunch(SCHEDULER), workerLaunch(WORKER)]) {
    expect(argv.join(' ')).not.toMatch(/tls\/|--tls|pem/);
  }
});

it('a client needs its environment alone', () => {
  expect(Object.keys(clientEnvironment(TLS))).toContain(
    'DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT'
  );
});

describe('the scheduler file', () => {
  const text = JSON.stringify({
    type: 'Scheduler',
    id: 'Scheduler-1',
    address: 'tls://127.0.0.1:4326',
    services: { dashboard: 35137 },
    started: 1796039036.44,
    workers: {}
  });

  it('tells who and where', () => {
    expect(parseSchedulerFile(text)).toEqual({
      id: 'Scheduler-1',
      address: 'tls://127.0.0.1:4326',
      startedSeconds: 1796039036.44,
      dashboardPort: 35137
    });
  });

  it('half written tells nothing yet, at every length', () => {
    for (let length = 0; length < text.length; length++) {
      expect(parseSchedulerFile(text.slice(0, length))).toBeNull();
    }
  });

  it('of another kind tells nothing', () => {
    expect(parseSchedulerFile('{}')).toBeNull();
    expect(parseSchedulerFile('null')).toBeNull();
    expect(
      parseSchedulerFile(text.replace('"dashboard":35137', '"other":1'))
        ?.dashboardPort
    ).toBeNull();
  });
});
