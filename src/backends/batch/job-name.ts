/** The name a job has in the batch system: readable, allowed there, and found again by its token. */
import type { SystemFacts } from './specification.js';

/**
 * A shorter word for a token where names are short (old PBS: 15 characters). Made of the token's
 * end, which is the random job id, so that it stays unique; same token, same word.
 */
export function shortToken(token: string, maximum: number): string {
  if (token.length <= maximum) {
    return token;
  }
  const tail = token.replace(/[^A-Za-z0-9]/g, '');
  return `m${tail.slice(Math.max(0, tail.length - maximum + 1))}`;
}

export type JobName = { text: string; changed: boolean };

/**
 * `my job` and a token → `my_job.muster-…`; the token is never cut, the name is. Without a token
 * the name alone, without a name the token alone, without both null.
 */
export function nativeJobName(
  facts: SystemFacts,
  name: string | undefined,
  token: string | undefined
): JobName | null {
  const maximum = facts.capabilities.maxNameLength;
  const clean = name === undefined ? undefined : sanitise(facts, name);
  if (token === undefined) {
    return clean === undefined
      ? null
      : {
          text: clean.slice(0, maximum),
          changed: clean.slice(0, maximum) !== name
        };
  }
  const mark = markOf(facts, token);
  const room = maximum - mark.length - 1;
  const text =
    clean === undefined || clean === token || room < 1
      ? mark
      : `${clean.slice(0, room)}${separator(facts)}${mark}`;
  return {
    text: sanitise(facts, text).slice(-maximum),
    changed: clean !== undefined && (clean !== name || clean.length > room)
  };
}

function sanitise(facts: SystemFacts, name: string): string {
  const { allowed, first, replacement } = facts.jobName;
  const inside = Array.from(name)
    .map(character =>
      new RegExp(`^[${allowed}]$`, 'u').test(character)
        ? character
        : replacement
    )
    .join('');
  return first !== undefined && !new RegExp(`^[${first}]`, 'u').test(inside)
    ? `m${inside}`
    : inside;
}

function markOf(facts: SystemFacts, token: string): string {
  return sanitise(facts, shortToken(token, facts.capabilities.maxNameLength));
}

/** Between name and token: a dot, which names of ours never begin with, where dots may be. */
function separator(facts: SystemFacts): string {
  return new RegExp(`^[${facts.jobName.allowed}]$`, 'u').test('.')
    ? '.'
    : facts.jobName.replacement;
}

/** Does a name in a listing (perhaps cut at its end) belong to this token? */
export function nameHasToken(
  facts: SystemFacts,
  name: string,
  token: string
): boolean {
  const mark = markOf(facts, token);
  return name === mark || name.endsWith(`${separator(facts)}${mark}`);
}
