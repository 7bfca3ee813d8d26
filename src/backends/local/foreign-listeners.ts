/**
 * Which addresses a process listens on that others could reach (reliability-and-security.md S1).
 * Dask's own defaults listen on every interface; this is how the bridge knows that ours do not.
 */
import { readFile, readdir, readlink } from 'node:fs/promises';

const LISTEN = '0A';

export type Listener = { address: string; port: number; inode: string };

/** Listening rows of `/proc/net/tcp` or `tcp6` (proc(5)): addresses as people write them. */
export function parseListeners(text: string): Listener[] {
  const found: Listener[] = [];
  for (const line of text.split('\n').slice(1)) {
    const fields = line.trim().split(/\s+/);
    const [address, port] = (fields[1] ?? '').split(':');
    const inode = fields[9];
    if (
      fields[3] === LISTEN &&
      address !== undefined &&
      port !== undefined &&
      inode !== undefined
    ) {
      found.push({
        address: readAddress(address),
        port: Number.parseInt(port, 16),
        inode
      });
    }
  }
  return found;
}

/** The kernel prints each 32-bit word in the byte order of the machine; all of ours are little-endian. */
function readAddress(hex: string): string {
  const bytes: number[] = [];
  for (let word = 0; word < hex.length; word += 8) {
    const part = Buffer.from(hex.slice(word, word + 8), 'hex').reverse();
    bytes.push(...part);
  }
  if (bytes.length === 4) {
    return bytes.join('.');
  }
  const mapped =
    bytes.slice(0, 10).every(byte => byte === 0) &&
    bytes[10] === 0xff &&
    bytes[11] === 0xff;
  if (mapped) {
    return `::ffff:${bytes.slice(12).join('.')}`;
  }
  const words: string[] = [];
  for (let index = 0; index < bytes.length; index += 2) {
    words.push(
      (((bytes[index] ?? 0) << 8) | (bytes[index + 1] ?? 0)).toString(16)
    );
  }
  return words.join(':').replace(/(^|:)0(:0)+(:|$)/, '::');
}

function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\./.test(address) || address === '::1';
}

/**
 * `address:port` of everything the process listens on beyond loopback; empty for a process that is
 * gone. null where it cannot be known (no /proc, or not our process).
 */
export async function foreignListeners(pid: number): Promise<string[] | null> {
  let inodes: Set<string>;
  try {
    inodes = await socketsOf(pid);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ESRCH') {
      return process.platform === 'linux' ? [] : null;
    }
    return null;
  }
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map(name =>
      // Of the process's own network namespace; tcp6 is absent where IPv6 is off.
      readFile(`/proc/${pid}/net/${name}`, 'utf8').catch(() => '')
    )
  );
  return tables
    .flatMap(parseListeners)
    .filter(row => inodes.has(row.inode) && !isLoopback(row.address))
    .map(row =>
      row.address.includes(':')
        ? `[${row.address}]:${row.port}`
        : `${row.address}:${row.port}`
    );
}

async function socketsOf(pid: number): Promise<Set<string>> {
  const folder = `/proc/${pid}/fd`;
  const links = await Promise.all(
    (await readdir(folder)).map(name =>
      readlink(`${folder}/${name}`).catch(() => '')
    )
  );
  return new Set(
    links.flatMap(link => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? [])
  );
}
