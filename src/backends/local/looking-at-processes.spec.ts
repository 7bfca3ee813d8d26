import { describe, expect, it } from '@jest/globals';
import { parseListeners } from './foreign-listeners.js';
import { hostResources } from './host-resources.js';
import { parseStat } from './proc-inspection.js';
import { parsePs, PsInspection } from './ps-inspection.js';

describe('looking at processes', () => {
  const tail = Array.from({ length: 18 }, (_, index) => String(index)).join(
    ' '
  );

  it.each([
    [`12 (dask worker) S ${tail} 135378 99`, '135378'],
    [`12 (evil) Z 1 (x) R ${tail} 777 1`, '777'],
    [`12 (gone) Z ${tail} 135378 99`, null],
    [`12 (gone) X ${tail} 135378 99`, null]
  ])('reads the start time of "%s"', (text, startTime) => {
    expect(parseStat(text)).toBe(startTime);
  });

  it('reads what ps prints, and leaves the dead out', () => {
    expect(
      parsePs(
        [
          '    1 Ss   Mon Nov 30 15:56:40 2026',
          ' 4711 R+   Tue Dec  1 00:00:01 2026',
          ' 4712 Z    Tue Dec  1 00:00:01 2026',
          'ps: some complaint',
          ''
        ].join('\n')
      )
    ).toEqual(
      new Map([
        [1, String(Date.UTC(2026, 10, 30, 15, 56, 40) / 1000)],
        [4711, String(Date.UTC(2026, 11, 1, 0, 0, 1) / 1000)]
      ])
    );
  });

  it('forgives ps the second by which a clock was corrected, not more', () => {
    const ps = new PsInspection();
    expect(ps.same('1000', '1001')).toBe(true);
    expect(ps.same('1000', '1010')).toBe(false);
    expect(ps.same(undefined, '1000')).toBe(false);
    expect(ps.same('nonsense', '1000')).toBe(false);
  });
});

describe('listening sockets', () => {
  const heading =
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
  const row = (address: string, state: string, inode: number) =>
    `   0: ${address} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0000000000000000 100 0 0 10 0`;

  it('are read as people write them, IPv4 and IPv6', () => {
    const text = [
      heading,
      row('0100007F:1F90', '0A', 1),
      row('00000000:0050', '0A', 2),
      row('0100007F:1F91', '01', 3),
      row('00000000000000000000000000000000:0051', '0A', 4),
      row('00000000000000000000000001000000:0052', '0A', 5),
      row('0000000000000000FFFF00000100007F:0053', '0A', 6),
      row('B80D01200000000067452301EFCDAB89:0054', '0A', 7)
    ].join('\n');
    expect(
      parseListeners(text).map(({ address, port }) => `${address} ${port}`)
    ).toEqual([
      '127.0.0.1 8080',
      '0.0.0.0 80',
      ':: 81',
      '::1 82',
      '::ffff:127.0.0.1 83',
      '2001:db8::123:4567:89ab:cdef 84'
    ]);
  });
});

describe('what this host has', () => {
  const host = { cores: 16, memory: 64e9 };
  const reader = (files: Record<string, string>) => (path: string) =>
    files[path] ?? null;

  it('is what the machine has where nothing limits it', () => {
    expect(hostResources(reader({}), host)).toEqual({
      ...host,
      limitedBy: []
    });
  });

  it('is cut by the tightest of nested cgroups of version 2', () => {
    const found = hostResources(
      reader({
        '/proc/self/cgroup': '0::/user.slice/job',
        '/sys/fs/cgroup/user.slice/cpu.max': '400000 100000',
        '/sys/fs/cgroup/user.slice/job/cpu.max': 'max 100000',
        '/sys/fs/cgroup/user.slice/memory.max': 'max',
        '/sys/fs/cgroup/user.slice/job/memory.max': '8000000000'
      }),
      host
    );
    expect(found).toMatchObject({ cores: 4, memory: 8e9 });
    expect(found.limitedBy).toHaveLength(2);
  });

  it('is cut by cgroups of version 1, but not by their way to say "none"', () => {
    const found = hostResources(
      reader({
        '/proc/self/cgroup': '4:memory:/job\n3:cpu,cpuacct:/job',
        '/sys/fs/cgroup/memory/job/memory.limit_in_bytes':
          '9223372036854771712',
        '/sys/fs/cgroup/memory/memory.limit_in_bytes': '32000000000',
        '/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us': '150000',
        '/sys/fs/cgroup/cpu/job/cpu.cfs_period_us': '100000',
        '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1',
        '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000'
      }),
      host
    );
    expect(found).toMatchObject({ cores: 1, memory: 32e9 });
  });
});
