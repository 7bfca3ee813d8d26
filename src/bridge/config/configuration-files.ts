/**
 * The configuration as it is now: `muster.yaml` of every folder, read again when one changes. A
 * broken file never takes anything down: what it said last counts on, and the problem is shown.
 */
import { join } from 'node:path';
import type { Systems } from '../../backends/batch/systems.js';
import type { ProfileView } from '../../protocol/index.js';
import type { Configuration, Limits } from '../clusters/ports.js';
import { batchSystemsOf } from './batch-systems.js';
import {
  CONFIG_NAME,
  readConfigFile,
  sourceOf,
  stampOf
} from './config-file.js';
import type { ConfigProblem } from './config-file.js';
import { mergeFiles, PACKAGE_FILE } from './muster-config.js';
import type {
  ConfigSource,
  MusterConfig,
  MusterFile
} from './muster-config.js';

export type ConfigurationFilesOptions = {
  /** Folders that may hold a `muster.yaml`, the strongest first. */
  paths: readonly string[];
  /** Told of problems as they appear. */
  log?: { warn: (facts: object, message: string) => void };
  /** Milliseconds between looks; by stat, because homes on NFS do not notify. */
  lookEvery?: number;
  source?: (folder: string) => ConfigSource;
};

type Entry = {
  path: string;
  source: ConfigSource;
  /** undefined: not looked at yet. */
  stamp: string | null | undefined;
  lastGood: MusterFile | null;
  problems: ConfigProblem[];
};

export class ConfigurationFiles implements Configuration {
  /** Reads all files; never throws for what is in them. */
  static async open(
    options: ConfigurationFilesOptions
  ): Promise<ConfigurationFiles> {
    const files = new ConfigurationFiles(options);
    await files.refresh();
    return files;
  }

  private constructor(options: ConfigurationFilesOptions) {
    const source = options.source ?? (folder => sourceOf(folder));
    this.entries = [...new Set(options.paths)].map(folder => ({
      path: join(folder, CONFIG_NAME),
      source: source(folder),
      stamp: undefined,
      lastGood: null,
      problems: []
    }));
    this.log = options.log;
    this.merged = this.merge();
    this.timer = setInterval(() => {
      void this.refresh();
    }, options.lookEvery ?? 5000);
    this.timer.unref();
  }

  get current(): MusterConfig {
    return this.merged;
  }

  profiles(): ProfileView[] {
    return this.merged.profiles;
  }

  limits(): Limits {
    const { limits } = this.merged;
    return {
      maximumWorkers: limits.maximumWorkers ?? null,
      maximumCores: limits.maximumCores ?? null,
      maximumMemory: limits.maximumMemory ?? null,
      allowedBackends: limits.allowedBackends ?? null
    };
  }

  lifetime(): Record<string, unknown> {
    return this.merged.lifetime;
  }

  defaultProfile(): string | null {
    return this.merged.defaultProfile;
  }

  /** Defaults of `groups[].options`, under what a profile and the request say. */
  backendDefaults(backend: string): Record<string, unknown> {
    return this.merged.backends[backend]?.options ?? {};
  }

  /** The built-in batch systems, and over them those the files describe. */
  async batchSystems(): Promise<Systems> {
    return this.systems ?? (await batchSystemsOf([])).systems;
  }

  /** What is wrong in the files as they lie there now. */
  get problems(): ConfigProblem[] {
    return [
      ...this.entries.flatMap(entry => entry.problems),
      ...this.systemProblems
    ];
  }

  /** Files looked at, the strongest first, and whether each is there. */
  get files(): { path: string; source: ConfigSource; present: boolean }[] {
    return this.entries.map(({ path, source, stamp }) => ({
      path,
      source,
      present: typeof stamp === 'string'
    }));
  }

  /** Looks again; afterwards `current` is what the files say. One look at a time. */
  refresh(): Promise<void> {
    this.looking ??= this.look().finally(() => {
      this.looking = null;
    });
    return this.looking;
  }

  /** Called after a change; returns the function that ends the subscription. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  close(): void {
    clearInterval(this.timer);
    this.listeners.clear();
  }

  private async look(): Promise<void> {
    let changed = false;
    for (const entry of this.entries) {
      const stamp = await stampOf(entry.path);
      if (stamp === entry.stamp) {
        continue;
      }
      changed = true;
      const result = await readConfigFile(entry.path);
      entry.stamp = stamp;
      entry.problems = result.type === 'broken' ? result.problems : [];
      for (const problem of entry.problems) {
        this.log?.warn(
          problem,
          'muster.yaml is not right; what it said last counts on'
        );
      }
      if (result.type !== 'broken') {
        entry.lastGood = result.type === 'read' ? result.file : null;
      }
    }
    if (changed) {
      await this.describeSystems();
      this.merged = this.merge();
      for (const listener of this.listeners) {
        listener();
      }
    }
  }

  private async describeSystems(): Promise<void> {
    const described = this.entries.flatMap(({ path, lastGood }) =>
      lastGood === null || lastGood.batchSystems.length === 0
        ? []
        : [{ file: path, descriptions: lastGood.batchSystems }]
    );
    if (described.length === 0) {
      // The usual case: nothing to load.
      this.systems = null;
      this.systemProblems = [];
      return;
    }
    const { systems, problems } = await batchSystemsOf(
      described,
      this.systems ?? undefined
    );
    this.systems = systems;
    this.systemProblems = problems;
    for (const problem of problems) {
      this.log?.warn(
        problem,
        'a batch system in muster.yaml is not right; the others count'
      );
    }
  }

  private merge(): MusterConfig {
    return mergeFiles([
      ...this.entries.flatMap(({ source, lastGood }) =>
        lastGood === null ? [] : [{ source, file: lastGood }]
      ),
      { source: 'package', file: PACKAGE_FILE }
    ]);
  }

  private readonly log: ConfigurationFilesOptions['log'];
  private readonly entries: Entry[];
  private readonly listeners = new Set<() => void>();
  private readonly timer: NodeJS.Timeout;
  private merged: MusterConfig;
  /** null: no file describes any. */
  private systems: Systems | null = null;
  private systemProblems: ConfigProblem[] = [];
  private looking: Promise<void> | null = null;
}
