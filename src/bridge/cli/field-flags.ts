/**
 * Flags that are fields of a specification: one table says the option, its field, and how its text
 * becomes a value; what the specification refuses is then said by the option's name.
 */
import { Option, type Command } from 'commander';
import type { SpecProblem } from '../../backends/batch/errors.js';
import { usage, type CliFailure } from './failure.js';

export type FieldFlag = {
  /** As commander reads it: `--cpus-per-task <n>`. */
  flags: string;
  field: string;
  about: string;
  /** What the text is; a repeated option collects a list. */
  as: 'text' | 'number' | 'switch' | 'list' | 'indices' | 'hosts';
  choices?: readonly string[];
};

export type FieldValues = Readonly<
  Record<string, string | string[] | boolean | undefined>
>;

export function addFieldFlags(
  command: Command,
  table: readonly FieldFlag[]
): Command {
  for (const one of table) {
    const option = new Option(one.flags, one.about);
    if (one.choices !== undefined) {
      option.choices(one.choices);
    }
    if (one.as === 'list') {
      option.argParser((text: string, before: string[] | undefined) => [
        ...(before ?? []),
        text
      ]);
    }
    command.addOption(option);
  }
  return command;
}

/** The fields that were said. @throws CliFailure naming the option */
export function fieldsOf(
  table: readonly FieldFlag[],
  values: FieldValues
): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const one of table) {
    const said = values[new Option(one.flags).attributeName()];
    if (said !== undefined) {
      fields[one.field] = valueOf(one, said);
    }
  }
  return fields;
}

function valueOf(one: FieldFlag, said: string | string[] | boolean): unknown {
  if (typeof said !== 'string') {
    return said;
  }
  switch (one.as) {
    case 'number':
      if (!/^\d{1,15}$/u.test(said)) {
        throw usage(`${nameOf(one)}: '${said}' is not a whole number`);
      }
      return Number(said);
    case 'indices':
      return { indices: indices(one, said) };
    case 'hosts':
      return said.split(',').map(part => {
        const match = /^(.+):(\d{1,6})$/u.exec(part);
        return match === null
          ? part
          : { host: match[1], slots: Number(match[2]) };
      });
    case 'text':
    case 'list':
    case 'switch':
      return said;
  }
}

/** `0-9,20` with steps `0-9:3`. */
function indices(one: FieldFlag, text: string): number[] {
  const found: number[] = [];
  for (const part of text.split(',')) {
    const match = /^(\d{1,7})(?:-(\d{1,7})(?::([1-9]\d{0,6}))?)?$/u.exec(part);
    const low = Number(match?.[1]);
    const high = Number(match?.[2] ?? match?.[1]);
    const step = Number(match?.[3] ?? 1);
    if (match === null || high < low || high - low > 100_000) {
      throw usage(
        `${nameOf(one)}: '${text}' is not a list of indices`,
        'e.g. 0-9, 1,3,5 or 0-100:10'
      );
    }
    for (let value = low; value <= high; value += step) {
      found.push(value);
    }
  }
  return found;
}

function nameOf(one: FieldFlag): string {
  return /--[a-z-]+/u.exec(one.flags)?.[0] ?? one.flags;
}

/** What a specification refuses, by the options that said it. */
export function refused(
  problems: readonly SpecProblem[],
  table: readonly FieldFlag[]
): CliFailure {
  return usage(
    problems
      .map(({ field, message }) => {
        const flag = table.find(
          one => field === one.field || field.startsWith(`${one.field}.`)
        );
        return `${flag === undefined ? field : nameOf(flag)}: ${message}`;
      })
      .join('; ')
  );
}

/** A name out of a list. @throws CliFailure naming the option and the accepted values */
export function oneOf<Name extends string>(
  option: string,
  said: string,
  names: readonly Name[]
): Name {
  const found = names.find(name => name === said);
  if (found === undefined) {
    throw usage(`${option}: '${said}' is not one of ${names.join(', ')}`);
  }
  return found;
}
