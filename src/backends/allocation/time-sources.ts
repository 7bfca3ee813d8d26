/** What each manager is asked for the time left, and how its answer reads. */
import type {
  AllocationKind,
  Answer,
  Answers,
  Environment,
  ReadFile
} from './allocation.js';
import { isUnlimited, readClock, readDate } from './clock.js';
import { fluxJob } from './flux.js';
import { condorAdFile, readAd } from './htcondor.js';
import { lsfReader } from './lsf.js';
import { cobaltReader } from './cobalt.js';
import { oarReader } from './oar.js';
import { pbsJob, pbsReader, torqueReader } from './pbs.js';
import { set } from './reader.js';
import { sgeReader } from './sge.js';
import { slurmReader } from './slurm.js';

export type Told = { seconds: number | null | 'unknown'; inGrace?: boolean };

export type TimeQuery = {
  kind: AllocationKind;
  argv: string[];
  read(answer: Answer, nowMs: number): Told;
};

const UNKNOWN: Told = { seconds: 'unknown' };
const OVER: Told = { seconds: 0 };
const GRACE: Told = { seconds: 0, inGrace: true };

/** Flux without a limit: the simple scheduler's greatest number, or Fluxion's year 2262. */
const FLUX_NO_LIMIT = 4_294_967_295;

/** Below nothing is left, in grace; whole seconds, rounded down so that nobody relies on more. */
function left(seconds: number): Told {
  return seconds < 0 ? GRACE : { seconds: Math.floor(seconds) };
}

function squeue(id: string): string[] {
  return ['squeue', '-h', '-j', id, '-o', '%T|%L'];
}

/** The commands to ask, innermost manager first; each only where its job id is there. */
export function timeQueries(env: Environment): TimeQuery[] {
  const queries: TimeQuery[] = [];
  const add = (
    kind: AllocationKind,
    argv: string[],
    read: TimeQuery['read']
  ): void => {
    queries.push({
      kind,
      argv,
      read: (answer, nowMs) => (answer.rc === 0 ? read(answer, nowMs) : UNKNOWN)
    });
  };
  const flux = fluxJob(env);
  if (flux !== null) {
    if (!flux.parent) {
      add('flux', ['flux', 'job', 'timeleft', flux.id], readFlux);
    }
    const outer = fluxJob({ FLUX_ENCLOSING_ID: env['FLUX_ENCLOSING_ID'] });
    if (outer !== null) {
      add('flux', ['flux', '--parent', 'job', 'timeleft', outer.id], readFlux);
    }
  }
  const lsf = lsfReader.jobId(env);
  if (lsf !== null) {
    const index = set(env, 'LSB_JOBINDEX') ?? '0';
    const id = /^[1-9]\d{0,9}$/u.test(index) ? `${lsf}[${index}]` : lsf;
    add('lsf', ['bjobs', '-noheader', '-o', 'time_left', id], readLsf);
  }
  const pbs = pbsReader.jobId(env);
  if (pbs !== null) {
    add('pbs', ['qstat', '-f', '-F', 'json', pbs], answer =>
      readPbs(answer.stdout, pbs)
    );
  }
  const torque = torqueReader.jobId(env);
  if (torque !== null) {
    add('torque', ['qstat', '-f', '-1', torque], readTorque);
  }
  const slurm = slurmReader.jobId(env);
  if (slurm !== null) {
    add('slurm', squeue(slurm), readSlurm);
  }
  const sge = sgeReader.jobId(env);
  if (sge !== null) {
    const task = set(env, 'SGE_TASK_ID') ?? 'undefined';
    add('sge', ['qstat', '-xml', '-j', sge], (answer, nowMs) =>
      readSge(answer.stdout, task === 'undefined' ? '1' : task, nowMs)
    );
  }
  const oar = oarReader.jobId(env);
  if (oar !== null) {
    add('oar', ['oarstat', '-f', '-J', '-j', oar], (answer, nowMs) =>
      readOar(answer.stdout, oar, nowMs)
    );
  }
  const cobalt = cobaltReader.jobId(env);
  if (cobalt !== null && set(env, 'COBALT_ENDTIME') === null) {
    add('cobalt', ['qstat', '-f', '-l', cobalt], readCobalt);
  }
  return queries;
}

/**
 * Did nobody answer? Where somebody did, absolute times of the environment do not count: they are of
 * the start, and may be of a job that is gone.
 */
function unreached(answer: Answer | undefined): boolean {
  return (
    answer === undefined ||
    (answer.rc !== 0 && !/invalid job id/iu.test(answer.stderr))
  );
}

/** Ends that stand in the environment or in a file, without asking anybody. */
export function readEnds(
  env: Environment,
  {
    readFile,
    answers,
    nowMs
  }: { readFile: ReadFile; answers: Answers; nowMs: number }
): { source: string; told: Told }[] {
  const ends: { source: string; told: Told }[] = [];
  for (const name of ['SLURM_JOB_END_TIME', 'COBALT_ENDTIME']) {
    const text = set(env, name);
    const job = name.startsWith('SLURM') ? slurmReader : cobaltReader;
    const id = job.jobId(env);
    if (text === null || id === null) {
      continue;
    }
    if (job.kind === 'cobalt' || unreached(answers[squeue(id).join(' ')])) {
      ends.push({
        source: name,
        told: /^[1-9]\d{8,10}$/u.test(text)
          ? left(Number(text) - nowMs / 1000)
          : UNKNOWN
      });
    }
  }
  const file = condorAdFile(env);
  if (file !== null) {
    ends.push({
      source: '_CONDOR_JOB_AD',
      told: readCondor(readFile(file), nowMs)
    });
  }
  return ends;
}

const SLURM_WAITING =
  /^(?:PENDING|CONFIGURING|REQUEUED|REQUEUE_HOLD|REQUEUE_FED|SPECIAL_EXIT|RESV_DEL_HOLD)$/u;
const SLURM_OVER =
  /^(?:COMPLETED|COMPLETING|CANCELLED|FAILED|TIMEOUT|DEADLINE|PREEMPTED|NODE_FAIL|BOOT_FAIL|OUT_OF_MEMORY|REVOKED|STAGE_OUT)/u;

/** Lines `STATE|LEFT`, one per component of a heterogeneous job: the state outranks the time. */
function readSlurm({ stdout }: Answer): Told {
  const lines = stdout.split('\n').filter(line => line.trim() !== '');
  const told = lines.map(line => {
    const [state = '', text = ''] = line.includes('|')
      ? line.split('|').map(part => part.trim())
      : ['RUNNING', line.trim()];
    if (SLURM_WAITING.test(state)) {
      return UNKNOWN;
    }
    if (SLURM_OVER.test(state)) {
      return OVER;
    }
    if (text === 'INVALID') {
      return GRACE;
    }
    if (isUnlimited(text)) {
      return { seconds: null };
    }
    if (text.startsWith('-')) {
      return readClock(text.slice(1)) === null ? UNKNOWN : GRACE;
    }
    return { seconds: readClock(text) ?? ('unknown' as const) };
  });
  return leastOf(told);
}

function leastOf(told: Told[]): Told {
  const numbers = told.filter(one => typeof one.seconds === 'number');
  const [first] = numbers;
  if (first !== undefined) {
    return numbers.reduce((best, one) =>
      Number(one.seconds) < Number(best.seconds) ? one : best
    );
  }
  return told.length > 0 && told.every(one => one.seconds === null)
    ? { seconds: null }
    : UNKNOWN;
}

/** Walltime minus what is used; both differ from the calendar while the job is suspended. */
function readPbs(stdout: string, id: string): Told {
  const job = pbsJob(stdout, id);
  const state = job?.['job_state'];
  if (job === null || typeof state !== 'string') {
    return UNKNOWN;
  }
  if (/^[EFX]$/u.test(state)) {
    return OVER;
  }
  if (!/^[RSUB]$/u.test(state)) {
    return UNKNOWN;
  }
  const limit = textOf(job['Resource_List'], 'walltime');
  if (limit === null) {
    return { seconds: null };
  }
  const limitSeconds = readClock(limit);
  if (limitSeconds === null) {
    return UNKNOWN;
  }
  const used = textOf(job['resources_used'], 'walltime');
  if (used !== null) {
    const usedSeconds = readClock(used);
    return usedSeconds === null ? UNKNOWN : left(limitSeconds - usedSeconds);
  }
  const started = readDate(textOf(job, 'stime') ?? '');
  const now = pbsNow(stdout);
  return started === null || now === null
    ? UNKNOWN
    : left(started + limitSeconds - now);
}

function textOf(value: unknown, name: string): string | null {
  const found =
    typeof value === 'object' && value !== null && Object.hasOwn(value, name)
      ? (value as Record<string, unknown>)[name]
      : null;
  return typeof found === 'string' ? found : null;
}

/** The server's own clock. */
function pbsNow(stdout: string): number | null {
  const match = /"timestamp":\s*(\d{9,11})\b/u.exec(stdout);
  return match === null ? null : Number(match[1]);
}

function readTorque({ stdout }: Answer): Told {
  const value = (name: string): string | null =>
    new RegExp(`^\\s+${name} = ([^\n]*)`, 'mu').exec(stdout)?.[1]?.trim() ??
    null;
  const state = value('job_state');
  if (state === 'C' || state === 'E') {
    return OVER;
  }
  if (state !== 'R' && state !== 'S') {
    return UNKNOWN;
  }
  const remaining = value('Walltime\\.Remaining');
  if (remaining !== null && /^-?\d{1,10}$/u.test(remaining)) {
    return left(Number(remaining));
  }
  const limit = value('Resource_List\\.walltime');
  if (limit === null) {
    return { seconds: null };
  }
  const limitSeconds = readClock(limit);
  const usedSeconds = readClock(value('resources_used\\.walltime') ?? '');
  return limitSeconds === null || usedSeconds === null
    ? UNKNOWN
    : left(limitSeconds - usedSeconds);
}

/** Start of the task + h_rt of the request. Without one the queue may have a limit: unknown. */
function readSge(stdout: string, task: string, nowMs: number): Told {
  const request =
    /<JB_hard_resource_list>([\s\S]*?)<\/JB_hard_resource_list>/u.exec(
      stdout
    )?.[1] ?? '';
  const limit =
    /<CE_name>h_rt<\/CE_name>[\s\S]*?<CE_stringval>([^<]*)<\/CE_stringval>/u.exec(
      request
    )?.[1] ?? null;
  if (limit === null) {
    return UNKNOWN;
  }
  if (isUnlimited(limit)) {
    return { seconds: null };
  }
  const seconds = /^\d{1,10}$/u.test(limit) ? Number(limit) : readClock(limit);
  // The fields of a task stand in any order between its list items.
  const started = [
    ...stdout.matchAll(
      /<JAT_task_number>(\d+)<\/JAT_task_number>(?:(?!<JAT_task_number>)[\s\S])*?<JAT_start_time>(\d{1,11})<\/JAT_start_time>/gu
    )
  ].find(one => one[1] === task)?.[2];
  return seconds === null || started === undefined || Number(started) === 0
    ? UNKNOWN
    : left(Number(started) + seconds - nowMs / 1000);
}

/** `0:59 L` hours and minutes; E estimated, X exceeded; `-`: no limit of its own. */
function readLsf({ stdout }: Answer): Told {
  const text = stdout.trim();
  if (text === '-' || isUnlimited(text)) {
    return { seconds: null };
  }
  const match = /^(\d{1,6}):(\d{2}) ?([LEX])?$/u.exec(text);
  if (match === null || Number(match[2]) > 59) {
    return UNKNOWN;
  }
  return match[3] === 'X'
    ? GRACE
    : { seconds: Number(match[1]) * 3600 + Number(match[2]) * 60 };
}

function readFlux({ stdout }: Answer): Told {
  const text = stdout.trim();
  if (!/^\d{1,15}$/u.test(text)) {
    return UNKNOWN;
  }
  const seconds = Number(text);
  return seconds >= FLUX_NO_LIMIT ? { seconds: null } : { seconds };
}

function readOar(stdout: string, id: string, nowMs: number): Told {
  let job: unknown;
  try {
    const jobs: unknown = JSON.parse(stdout);
    job =
      typeof jobs === 'object' && jobs !== null && Object.hasOwn(jobs, id)
        ? (jobs as Record<string, unknown>)[id]
        : null;
  } catch {
    // oarstat prints text, not JSON, where its database does not answer.
    return UNKNOWN;
  }
  if (typeof job !== 'object' || job === null) {
    return UNKNOWN;
  }
  const { state, walltime, startTime } = job as Record<string, unknown>;
  if (
    typeof state === 'string' &&
    ['Finishing', 'Terminated', 'Error', 'toError'].includes(state)
  ) {
    return OVER;
  }
  return (state === 'Running' || state === 'Suspended') &&
    typeof walltime === 'number' &&
    typeof startTime === 'number' &&
    startTime > 0
    ? left(startTime + walltime - nowMs / 1000)
    : UNKNOWN;
}

/** The tighter of the two limits of the ad; without one the site may still have a policy: unknown. */
function readCondor(text: string | null, nowMs: number): Told {
  const ad = readAd(text ?? '');
  const start = ad.get('JobCurrentStartDate') ?? '';
  const limits = ['AllowedExecuteDuration', 'AllowedJobDuration']
    .map(name => ad.get(name) ?? '')
    .filter(one => /^[1-9]\d{0,11}$/u.test(one))
    .map(Number);
  return limits.length === 0 || !/^[1-9]\d{0,11}$/u.test(start)
    ? UNKNOWN
    : left(Number(start) + Math.min(...limits) - nowMs / 1000);
}

function readCobalt({ stdout }: Answer): Told {
  const text = /^\s*TimeRemaining\s*:\s*(\S+)\s*$/mu.exec(stdout)?.[1] ?? '';
  return { seconds: readClock(text) ?? 'unknown' };
}
