import { describe, expect, it } from '@jest/globals';
import { recordedMessages, VERSIONS } from './fixtures/recorded.js';
import { readIdentity, readReply } from './replies.js';
import { capabilitiesOf, compareVersions, readVersions } from './versions.js';
import { LinkError } from './wire/errors.js';

const recorded = recordedMessages();

function replyOf(name: string, version: string): unknown {
  const replies = recorded.filter(
    message =>
      message.case === name &&
      message.version === version &&
      message.direction === 'scheduler-to-client'
  );
  const reply = replies.at(-1)?.decoded;
  if (reply === undefined) {
    throw new Error(`no ${name} of ${version} was recorded`);
  }
  return reply;
}

describe.each(VERSIONS)('replies of %s', version => {
  it('tell version and capabilities', () => {
    const versions = readVersions(replyOf('versions', version));
    expect(versions.version).toBe(version);
    expect(versions.packages['msgpack']).toBe('1.2.4');
    expect(versions.capabilities.limitedIdentity).toBe(version !== '2024.8.2');
  });

  it('tell the workers, whatever their metrics', () => {
    const { identity, workerCount } = readIdentity(
      replyOf('identity-workers', version)
    );
    expect(identity.id).toMatch(/^Scheduler-/);
    expect(identity.dashboardPort).toEqual(expect.any(Number));
    expect(identity.workers).toHaveLength(3);
    expect(workerCount).toBe(version === '2024.8.2' ? null : 3);
    expect(identity.workers.map(worker => worker.name).sort()).toEqual(
      expect.arrayContaining(['alpha'])
    );
    for (const worker of identity.workers) {
      expect(worker).toMatchObject({
        status: 'running',
        nthreads: 1,
        memoryLimit: 500_000_000,
        longRunning: 0
      });
      expect(worker.metricsTime).toBeGreaterThan(1.7e9);
    }
  });
});

it('a worker named by a number has its name as text', () => {
  const { identity } = readIdentity(replyOf('identity-workers', '2026.8.0'));
  const seven = identity.workers.find(worker => worker.name === '7');
  expect(seven?.resources).toEqual({ GPU: 1 });
});

it('a worker without any metrics is still a worker', () => {
  const { identity } = readIdentity({
    type: 'Scheduler',
    id: 's',
    address: 'tcp://h:1',
    extra: 1,
    workers: {
      'tcp://h:2': { name: 'x' },
      'tcp://h:3': {
        name: 'y',
        metrics: 'odd',
        nthreads: 'many',
        resources: { GPU: 'two' }
      },
      'tcp://h:4': 5
    }
  });
  expect(
    identity.workers.map(
      ({ address, executing, memory, resources, status }) => [
        address,
        executing,
        memory,
        resources,
        status
      ]
    )
  ).toEqual([
    ['tcp://h:2', 0, null, {}, 'unknown'],
    ['tcp://h:3', 0, null, {}, 'unknown']
  ]);
});

it.each([
  ['null, as an unknown op answers', null],
  ['a text', 'OK'],
  [
    'the identity of a worker',
    { type: 'Worker', id: 'x', address: 'tcp://h:1' }
  ]
])('an identity that is %s is refused', (_, reply) => {
  expect(() => readIdentity(reply)).toThrow(LinkError);
});

it('null for an op that answers a value is refused: it may be unknown there', () => {
  for (const op of [
    'ncores',
    'adaptive_target',
    'workers_to_close',
    'retire_workers',
    'processing',
    'events'
  ] as const) {
    expect(() => readReply(op, null)).toThrow(LinkError);
  }
  expect(readReply('check_idle', null)).toBeNull();
});

describe('versions', () => {
  it.each([
    ['2026.8.0', '2025.9.1', 1],
    ['2024.8.2', '2024.8.2', 0],
    ['2024.8', '2024.8.0', 0],
    ['2024.8.2', '2024.12.0', -1],
    ['2022.12.1+ds.1', '2022.12.1', 0],
    ['2026.7.0.dev10+gabc', '2026.8.0', -1],
    ['unknown', '2024.8.0', -1]
  ])('%s against %s: %d', (a, b, sign) => {
    expect(Math.sign(compareVersions(a, b))).toBe(sign);
  });

  it('below the floor are refused with a sentence that names both', () => {
    const old = {
      host: { byteorder: 'little' },
      packages: { distributed: '2022.12.1+ds.1' }
    };
    expect(() => readVersions(old)).toThrow(
      /2022\.12\.1\+ds\.1; Muster speaks to 2024\.8\.0 and later/
    );
    expect(() =>
      readVersions({ packages: { distributed: '2024.7.1' } })
    ).toThrow(LinkError);
    expect(
      readVersions({ packages: { distributed: '2024.8.0' } }).version
    ).toBe('2024.8.0');
  });

  it('of a big-endian machine are refused', () => {
    expect(() =>
      readVersions({
        host: { byteorder: 'big' },
        packages: { distributed: '2026.8.0' }
      })
    ).toThrow(/big-endian/);
  });

  it('that are not told are refused', () => {
    for (const reply of [
      null,
      {},
      { packages: {} },
      { packages: { distributed: null } }
    ]) {
      expect(() => readVersions(reply)).toThrow(LinkError);
    }
  });

  it('decide alone what can be asked', () => {
    expect(capabilitiesOf('2025.3.0').limitedIdentity).toBe(false);
    expect(capabilitiesOf('2025.4.0').limitedIdentity).toBe(true);
  });
});
