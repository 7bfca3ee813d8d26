/** Amounts as people write them, and back. */
import { describe, expect, it } from '@jest/globals';
import { GIB } from '../fixtures/cluster-views.js';
import {
  addTo,
  formatAmount,
  formatSize,
  formatUsed,
  parseAmount,
  stepOf
} from './amount-text.js';

describe('an amount in one field', () => {
  it.each([
    ['8', { workers: 8 }],
    [' 8 workers', { workers: 8 }],
    ['1 worker', { workers: 1 }],
    ['64 cores', { cores: 64 }],
    ['64c', { cores: 64 }],
    ['1 TB', { memory: 1e12 }],
    ['8GiB', { memory: 8 * GIB }],
    ['-5', { workers: -5 }]
  ])('%j is %j', (text, amount) => {
    expect(parseAmount(text)).toEqual(amount);
  });

  it.each(['', ' ', 'lots', 'GiB', '1.5', '8 dogs', '1e'])(
    '%j is no amount of workers, cores or memory (W10)',
    text => {
      expect(parseAmount(text)).toBeNull();
    }
  );

  it.each([
    { workers: 0 },
    { workers: 31 },
    { cores: 64 },
    { memory: 1e12 },
    { memory: 8 * GIB },
    { memory: 1.5e12 }
  ])('reads back what it wrote: %j', amount => {
    expect(parseAmount(formatAmount(amount))).toEqual(amount);
  });

  it('says a terabyte as one, and a gibibyte as one', () => {
    expect(formatSize(1e12)).toBe('1 TB');
    expect(formatSize(GIB)).toBe('1 GiB');
    expect(formatSize(800e6)).toBe('800 MB');
  });

  it('says used and whole in one unit', () => {
    expect(formatUsed(12.2 * GIB, 32 * GIB)).toBe('12 / 32 GiB');
    expect(formatUsed(1.1 * GIB, 8 * GIB)).toBe('1.1 / 8 GiB');
    expect(formatUsed(0, 8 * GIB)).toBe('0 / 8 GiB');
  });

  it('steps by whole jobs in its own unit, and never below nothing', () => {
    const shape = { cores: 2, memory: 4 * GIB, gpus: 0, resources: {} };
    expect(addTo({ workers: 8 }, stepOf({ workers: 8 }, shape, 4))).toEqual({
      workers: 12
    });
    expect(addTo({ cores: 8 }, stepOf({ cores: 8 }, shape, 4))).toEqual({
      cores: 16
    });
    expect(addTo({ memory: 0 }, -stepOf({ memory: 0 }, shape, 1))).toEqual({
      memory: 0
    });
  });
});
