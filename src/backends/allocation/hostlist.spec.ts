import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Inconsistent } from './allocation.js';
import {
  compressHostList,
  expandCounts,
  expandHostList,
  readExecHost,
  readLsfHosts,
  readNodeFile
} from './index.js';
import { hostListCases } from './fixtures/cases.js';

describe('a host list', () => {
  it.each(hostListCases.map(one => [one.dialect, one.text, one] as const))(
    'of %s: %j',
    (_dialect, text, { dialect, hosts }) => {
      if (hosts === null) {
        expect(() => expandHostList(text, dialect)).toThrow(Inconsistent);
      } else {
        expect(expandHostList(text, dialect)).toEqual(hosts);
      }
    }
  );

  it('is refused above 65536 hosts in one range, also where brackets multiply', () => {
    expect(expandHostList('n[0-65535]')).toHaveLength(65_536);
    expect(() => expandHostList('n[0-65536]')).toThrow('too long');
    expect(() => expandHostList('n[0-9999]x[0-9999]y[0-9999]')).toThrow(
      'too long'
    );
  });

  it('is compressed to brackets at the end of a name only', () => {
    expect(compressHostList(['n1', 'n2', 'n3', 'n7'])).toBe('n[1-3,7]');
    expect(compressHostList(['n08', 'n09', 'n10', 'n11'])).toBe('n[08-11]');
    expect(compressHostList(['n9', 'n10'])).toBe('n[9-10]');
    expect(compressHostList(['h1-ib', 'h2-ib'])).toBe('h1-ib,h2-ib');
    expect(compressHostList(['n1', 'n01'])).toBe('n1,n01');
    expect(compressHostList(['login', '7'])).toBe('login,7');
    expect(compressHostList([])).toBe('');
  });

  const host = fc.oneof(
    fc
      .tuple(
        fc.constantFrom('n', 'rack1-n', 'r0_b', '10.0.0.', 'ñ'),
        fc.nat(1200),
        fc.constantFrom(0, 2, 3, 4)
      )
      .map(([head, value, width]) => head + String(value).padStart(width, '0')),
    fc.constantFrom('login', 'a.b.c', 'x-1-ib', 'n007', 'n7')
  );

  it('round trips: what is compressed expands to the same hosts', () => {
    fc.assert(
      fc.property(fc.array(host, { maxLength: 40 }), hosts => {
        expect(expandHostList(compressHostList(hosts))).toEqual(hosts);
      }),
      { numRuns: 2000 }
    );
  });

  it('round trips for runs of neighbours, whatever their width', () => {
    fc.assert(
      fc.property(
        fc.nat(2000),
        fc.integer({ min: 1, max: 300 }),
        fc.constantFrom(0, 2, 3, 4, 5),
        (from, count, width) => {
          const hosts = Array.from(
            { length: count },
            (_, at) => `n${String(from + at).padStart(width, '0')}`
          );
          const text = compressHostList(hosts);
          expect(expandHostList(text)).toEqual(hosts);
          expect(text.length).toBeLessThan(30);
        }
      )
    );
  });

  it('of any text either expands to names or is refused', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc
            .array(fc.constantFrom('n', '1', '0', '[', ']', ',', '-', '_'), {
              maxLength: 14
            })
            .map(parts => parts.join(''))
        ),
        fc.constantFrom('slurm' as const, 'flux' as const),
        (text, dialect) => {
          try {
            for (const name of expandHostList(text, dialect)) {
              expect(name).toMatch(/^[^\s,-][^\s]*$/u);
            }
          } catch (error) {
            expect(error).toBeInstanceOf(Inconsistent);
          }
        }
      ),
      { numRuns: 3000 }
    );
  });
});

describe('counts and node files', () => {
  it('repeated counts are one per node', () => {
    expect(expandCounts('72(x2),36')).toEqual([72, 72, 36]);
    expect(expandCounts('2(x3),1')).toEqual([2, 2, 2, 1]);
    for (const bad of ['', '2(x0)', '2(x', 'x', '1,', '-1', '2(x9999999),1']) {
      expect(() => expandCounts(bad)).toThrow(Inconsistent);
    }
  });

  it('hosts of PBS count their cpus, those of Torque their slots', () => {
    expect(readExecHost('host/0*8+host2/0*8')).toEqual([
      { host: 'host', slots: 8 },
      { host: 'host2', slots: 8 }
    ]);
    expect(readExecHost('host/0*8+host2')).toEqual([
      { host: 'host', slots: 8 },
      { host: 'host2', slots: 1 }
    ]);
    expect(readExecHost('head/0-1+c1/0')).toEqual([
      { host: 'head', slots: 2 },
      { host: 'c1', slots: 1 }
    ]);
    expect(readExecHost('n1/0,2+n2/1+n1/5')).toEqual([
      { host: 'n1', slots: 3 },
      { host: 'n2', slots: 1 }
    ]);
    for (const bad of ['', 'a+', 'a/1-0', 'a/x', 'a b/0', 'a/0*0']) {
      expect(() => readExecHost(bad)).toThrow(Inconsistent);
    }
  });

  it('F2: host1:host1 and 2*host1 are two slots of one host', () => {
    const two = [{ host: 'host1', slots: 2 }];
    expect(readLsfHosts('host1:host1')).toEqual(two);
    expect(readLsfHosts('2*host1')).toEqual(two);
    expect(readLsfHosts('2*host1:host2')).toEqual([
      ...two,
      { host: 'host2', slots: 1 }
    ]);
    for (const bad of ['', '0*h', '*h', 'h1:-h2']) {
      expect(() => readLsfHosts(bad)).toThrow(Inconsistent);
    }
  });

  it('a node file names each host once, in order of first sight', () => {
    expect(readNodeFile('n2\nn1\nn2\n', 'X')).toEqual([
      { host: 'n2', slots: 2 },
      { host: 'n1', slots: 1 }
    ]);
    expect(() => readNodeFile('n1 slots=2\n', 'X')).toThrow("'n1 slots=2'");
  });
});
