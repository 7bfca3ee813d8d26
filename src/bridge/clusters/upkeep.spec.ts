import { describe, expect, it } from '@jest/globals';
import pino from 'pino';
import type { SchedulerLink } from '../dask/scheduler-link.js';
import type { ClusterRecord } from '../store/records.js';
import { ClusterState } from './cluster-state.js';
import type { Context } from './context.js';
import { outdated } from './housekeeping.js';
import { newRecord } from './new-record.js';
import { lookAfter } from './upkeep.js';

const DAY = 86_400_000;

function state(change: Partial<ClusterRecord> = {}): ClusterState {
  const record = newRecord({
    clustersFolder: '/state/clusters',
    client: null,
    spec: {
      name: 'long',
      backend: 'local',
      scheduler: {
        placement: 'bridge',
        resources: { cores: 1, memory: null },
        options: {}
      },
      groups: [],
      environment: {
        kernelspec: null,
        python: '/env/bin/python',
        variables: {},
        prologue: [],
        epilogue: []
      },
      lifetime: { onJupyterStop: 'keep', idleTimeout: null, maximumAge: null },
      security: { tls: true }
    }
  });
  return new ClusterState({ ...record, ...change });
}

function context(options: {
  packages?: Record<string, string>;
  notAfter?: Date | null;
}): Context {
  return {
    environments: { packages: () => Promise.resolve(options.packages ?? {}) },
    certificates: { notAfter: () => Promise.resolve(options.notAfter ?? null) },
    books: { changed: () => undefined },
    log: pino({ level: 'silent' })
  } as unknown as Context;
}

describe('a cluster that runs for long', () => {
  it('says when the environment was upgraded under it, and no more after a restart', async () => {
    const one = state();
    one.link = {
      packages: { dask: '2026.8.0', distributed: '2026.8.0', msgpack: null }
    } as unknown as SchedulerLink;
    await lookAfter(
      context({ packages: { dask: '2026.8.0', distributed: '2026.9.0' } }),
      one
    );
    expect(one.reasons.get('version-mismatch')?.message).toMatch(
      /distributed 2026\.8\.0, now 2026\.9\.0/
    );
    await lookAfter(
      context({ packages: { dask: '2026.8.0', distributed: '2026.8.0' } }),
      one
    );
    expect(one.reasons.has('version-mismatch')).toBe(false);
  });

  it.each([
    [30, false],
    [10, true]
  ])(
    'with certificates that end in %i days is warned of: %s',
    async (days, warned) => {
      const one = state();
      await lookAfter(
        context({ notAfter: new Date(Date.now() + days * DAY) }),
        one
      );
      expect(one.reasons.has('certificate-expiring')).toBe(warned);
    }
  );
});

describe('clusters that ended', () => {
  const now = Date.UTC(2026, 10, 30);
  const ended = (daysAgo: number) =>
    state({
      phase: 'stopped',
      stoppedAt: new Date(now - daysAgo * DAY).toISOString()
    });

  it('are kept for 30 days, at most 200 of them, the newest; those that live for ever', () => {
    const old = ended(31);
    expect(outdated([ended(1), old, state({ phase: 'running' })], now)).toEqual(
      [old]
    );
    const many = Array.from({ length: 205 }, (_, index) => ended(index / 100));
    expect(outdated(many, now)).toEqual(many.slice(200));
  });
});
