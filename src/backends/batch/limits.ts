/** What queues, accounts and parallel environments there are, and what they let through. Pure. */
import { duration, find, wordOrNull } from './decode.js';
import { chooseForm } from './status.js';
import { readNativeSize } from './memory-size.js';
import { message } from './readers/lines.js';
import { read, type TextRecord } from './readers/read.js';
import type { CommandOutput, LimitsResult, QueueLimits } from './results.js';
import type { LimitsSource, SystemFacts } from './specification.js';

export type LimitsContext = {
  argv?: readonly string[];
  what?: LimitsSource['what'];
};

const NOTHING: LimitsResult = {
  code: 'OK',
  queues: [],
  accounts: [],
  qos: [],
  parallelEnvironments: [],
  settings: {},
  errors: []
};

export function parseLimits(
  facts: SystemFacts,
  output: CommandOutput,
  context: LimitsContext = {}
): LimitsResult {
  const sources = facts.limits.filter(
    one => context.what === undefined || one.what === context.what
  );
  const text = output.stdout.replaceAll('\r\n', '\n');
  const said = message(output.stderr).trim();
  const all = message(`${said}\n${text}`);
  const source = chooseForm(
    sources.map(one => ({
      ...one,
      argvTemplate: one.argv,
      argv: one.argvMark
    })),
    text,
    context.argv
  );
  const errors = said === '' ? [] : [said];
  const any = (patterns: readonly string[]): boolean =>
    patterns.some(one => new RegExp(one, 'imu').test(all));
  if (
    output.timedOut === true ||
    (output.rc !== 0 && any(facts.answers.unreachable))
  ) {
    return { ...NOTHING, code: 'UNREACHABLE', errors };
  }
  if (output.rc !== 0) {
    const code = any(facts.answers.unsupported)
      ? 'UNSUPPORTED'
      : any(facts.answers.missing) || any(facts.answers.empty)
        ? 'EMPTY'
        : 'UNREACHABLE';
    return { ...NOTHING, code, errors };
  }
  const records =
    source === null ? null : read(source.reader, text, context.argv);
  if (records === null || source === null) {
    return text.trim() === ''
      ? { ...NOTHING, code: 'EMPTY', errors }
      : {
          ...NOTHING,
          code: 'UNREACHABLE',
          errors: [...errors, `not understood: ${text.trim().slice(0, 200)}`]
        };
  }
  return collect(source, records, errors);
}

function collect(
  source: Pick<LimitsSource, 'what' | 'fields'>,
  records: readonly TextRecord[],
  errors: readonly string[]
): LimitsResult {
  const names = (key: string): string[] => [
    ...new Set(
      records.flatMap(record =>
        (wordOrNull(find(record, source.fields[key])) ?? '')
          .split(',')
          .map(one => one.trim())
          .filter(one => one !== '')
      )
    )
  ];
  const code = records.length === 0 ? 'EMPTY' : 'OK';
  switch (source.what) {
    case 'queues':
      return {
        ...NOTHING,
        code,
        queues: merge(records.flatMap(one => queueOf(source, one))),
        errors
      };
    case 'accounts':
      return {
        ...NOTHING,
        code,
        accounts: names('name'),
        qos: names('qos'),
        errors
      };
    case 'qos':
      return { ...NOTHING, code, qos: names('name'), errors };
    case 'parallelEnvironments':
      return { ...NOTHING, code, parallelEnvironments: names('name'), errors };
    case 'settings':
      return {
        ...NOTHING,
        code,
        settings: Object.assign({}, ...records) as Record<string, string>,
        errors
      };
  }
}

function queueOf(
  source: Pick<LimitsSource, 'fields'>,
  record: TextRecord
): QueueLimits[] {
  const get = (key: string) => find(record, source.fields[key]);
  const name = wordOrNull(get('name'));
  if (name === null) {
    return [];
  }
  const yes = (key: string): boolean | null => {
    const text = wordOrNull(get(key));
    return text === null
      ? null
      : /^(up|yes|true|y|t|✔|active|ok|notactive_ok)$/i.test(text);
  };
  const count = (key: string): number | 'unlimited' | null => {
    const text = wordOrNull(get(key));
    return text === null
      ? null
      : /^(unlimited|infinite|inf|infinity)$/i.test(text)
        ? 'unlimited'
        : /^\d+(\.0)?$/.test(text)
          ? Number(text)
          : null;
  };
  const size = (key: string): number | 'unlimited' | null => {
    const text = wordOrNull(get(key));
    return text === null ? null : readNativeSize(text, 1024 ** 2);
  };
  const plain = (value: number | 'unlimited' | null): number | null =>
    value === 'unlimited' ? null : value;
  return [
    {
      name: name.replace(/\*$/, ''),
      isDefault: name.endsWith('*') || yes('isDefault') === true,
      enabled: yes('enabled'),
      started: yes('started'),
      maxWalltimeSeconds: duration(get('maxWalltime')),
      maxNodes: count('maxNodes'),
      maxCpus: count('maxCpus'),
      maxGpus: count('maxGpus'),
      maxMemoryBytes: size('maxMemory'),
      cpusPerNode: plain(count('cpusPerNode')),
      memoryPerNodeBytes: plain(size('memoryPerNode')),
      nodeNames: wordOrNull(get('nodes'))
    }
  ];
}

/** A queue told on several lines (one per node state) is one queue. */
function merge(queues: readonly QueueLimits[]): QueueLimits[] {
  const byName = new Map<string, QueueLimits>();
  for (const queue of queues) {
    const before = byName.get(queue.name);
    byName.set(
      queue.name,
      before === undefined
        ? queue
        : {
            ...before,
            isDefault: before.isDefault || queue.isDefault,
            cpusPerNode: greater(before.cpusPerNode, queue.cpusPerNode),
            memoryPerNodeBytes: greater(
              before.memoryPerNodeBytes,
              queue.memoryPerNodeBytes
            ),
            nodeNames:
              before.nodeNames === null
                ? queue.nodeNames
                : queue.nodeNames === null
                  ? before.nodeNames
                  : `${before.nodeNames},${queue.nodeNames}`
          }
    );
  }
  return [...byName.values()];
}

function greater(one: number | null, other: number | null): number | null {
  return one === null ? other : other === null ? one : Math.max(one, other);
}
