/** The interpreters a cluster may run on: those behind kernelspecs, conda, venvs, the bridge's own. */
import { stat } from 'node:fs/promises';
import { MusterError } from '../../protocol/index.js';
import type {
  EnvironmentView,
  Kernelspec,
  SpecEnvironment
} from '../../protocol/index.js';
import type { Environments } from '../clusters/ports.js';
import { probeInterpreter } from './interpreter-probe.js';
import type { InterpreterFacts } from './interpreter-probe.js';
import { searchInterpreters } from './interpreter-search.js';
import type { FoundInterpreter } from './interpreter-search.js';

/** Interpreters asked at once. */
const AT_ONCE = 4;
/** Milliseconds a failure is believed: what is missing now may be there in a moment. */
const FAILURE_LIFE = 5_000;
/** Milliseconds until files are looked for anew. */
const SEARCH_LIFE = 30_000;

export type EnvironmentCatalogOptions = {
  /** Interpreter of the half that started the bridge; null: not told. */
  python: string | null;
  /** Kernelspecs of the Jupyter servers that are here. */
  clients: { readonly kernelspecs: readonly Kernelspec[] };
  probe?: (python: string) => Promise<InterpreterFacts>;
  search?: () => Promise<FoundInterpreter[]>;
  now?: () => number;
};

type Known = {
  stamp: string;
  /** undefined: still being asked. */
  failedAt: number | null | undefined;
  facts: Promise<InterpreterFacts>;
};

export class EnvironmentCatalog implements Environments {
  constructor(private readonly options: EnvironmentCatalogOptions) {
    this.probe = options.probe ?? probeInterpreter;
    this.search = options.search ?? (() => searchInterpreters());
    this.now = options.now ?? (() => performance.now());
  }

  /** Kernelspecs first, in the order of their names; then the bridge's own, venvs, conda. */
  async list(): Promise<EnvironmentView[]> {
    const places = await this.places();
    const views: EnvironmentView[] = new Array<EnvironmentView>(places.length);
    let next = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (next < places.length) {
          const index = next;
          next += 1;
          const place = places[index];
          if (place !== undefined) {
            views[index] = viewOf(place, await this.facts(place.python));
          }
        }
      })
    );
    return views;
  }

  /**
   * The interpreter of a request: the one it names, that of its kernelspec, or the bridge's own.
   * @throws MusterError `spec-invalid` naming the field, with the command that mends it.
   */
  async resolve(
    environment: SpecEnvironment | undefined
  ): Promise<EnvironmentView> {
    const { place, field } = this.choose(environment);
    const view = viewOf(place, await this.facts(place.python));
    if (!view.usable) {
      throw new MusterError({
        code: 'spec-invalid',
        path: field,
        message: `${field}: ${view.whyNot ?? 'cannot be used'}`,
        hint: 'GET environments (muster environments) lists the interpreters that can be used',
        details: { python: view.python, pythonVersion: view.pythonVersion }
      });
    }
    return view;
  }

  /** Versions of packages, for comparison with a scheduler's or a kernel's. */
  async packages(python: string): Promise<Record<string, string | null>> {
    return (await this.facts(python)).packages;
  }

  private choose(environment: SpecEnvironment | undefined): {
    place: Place;
    field: string;
  } {
    if (environment?.python != null) {
      return {
        place: this.named(environment.python),
        field: 'environment.python'
      };
    }
    if (environment?.kernelspec != null) {
      return {
        place: this.ofKernelspec(environment.kernelspec),
        field: 'environment.kernelspec'
      };
    }
    if (this.options.python === null) {
      throw new MusterError({
        code: 'spec-invalid',
        path: 'environment.python',
        message:
          'environment.python: say which Python the workers run on; the bridge was not told one'
      });
    }
    return { place: own(this.options.python), field: 'environment.python' };
  }

  private named(python: string): Place {
    const kernelspec = this.options.clients.kernelspecs.find(
      one => one.python === python
    );
    return kernelspec === undefined
      ? python === this.options.python
        ? own(python)
        : { ...own(python), source: 'venv', name: python }
      : ofKernelspec(kernelspec, python);
  }

  private ofKernelspec(name: string): Place {
    const { kernelspecs } = this.options.clients;
    const found = kernelspecs.find(one => one.name === name);
    const refuse = (message: string, hint: string): never => {
      throw new MusterError({
        code: 'spec-invalid',
        path: 'environment.kernelspec',
        message: `environment.kernelspec: ${message}`,
        hint
      });
    };
    if (found === undefined) {
      const known = kernelspecs
        .filter(one => one.python !== null)
        .map(one => one.name);
      return refuse(
        `no Jupyter server here has a kernelspec '${name}'`,
        known.length === 0
          ? 'say environment.python instead; no Jupyter server is registered'
          : `one of: ${known.join(', ')}`
      );
    }
    return found.python === null
      ? refuse(
          `the kernelspec '${name}' (${found.language}) has no Python interpreter that can be told`,
          'say environment.python instead'
        )
      : ofKernelspec(found, found.python);
  }

  private async places(): Promise<Place[]> {
    const places: Place[] = [...this.options.clients.kernelspecs]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap(one =>
        one.python === null ? [] : [ofKernelspec(one, one.python)]
      );
    const add = (place: Place) => {
      if (!places.some(one => one.python === place.python)) {
        places.push(place);
      }
    };
    if (this.options.python !== null) {
      add(own(this.options.python));
    }
    for (const found of await this.searched()) {
      add({ ...found, kernelspec: null, displayName: null });
    }
    return places;
  }

  private searched(): Promise<FoundInterpreter[]> {
    if (
      this.lastSearch === null ||
      this.now() - this.lastSearch.at > SEARCH_LIFE
    ) {
      this.lastSearch = { at: this.now(), found: this.search() };
    }
    return this.lastSearch.found;
  }

  /** Asked once, and again when the interpreter or its packages changed, or after a failure. */
  private async facts(python: string): Promise<InterpreterFacts> {
    const known = this.known.get(python);
    if (known !== undefined) {
      if (known.failedAt === undefined) {
        return known.facts;
      }
      const facts = await known.facts;
      const fresh =
        known.failedAt === null
          ? known.stamp === (await stampOf(python, facts.siteFolders))
          : this.now() - known.failedAt < FAILURE_LIFE;
      if (fresh) {
        return facts;
      }
      if (this.known.get(python) !== known) {
        return this.facts(python); // somebody else has asked meanwhile
      }
    }
    const asked: Known = {
      stamp: '',
      failedAt: undefined,
      facts: this.probe(python)
    };
    this.known.set(python, asked);
    const facts = await asked.facts;
    asked.stamp = await stampOf(python, facts.siteFolders);
    asked.failedAt = facts.usable ? null : this.now();
    return facts;
  }

  private readonly known = new Map<string, Known>();
  private lastSearch: {
    at: number;
    found: Promise<FoundInterpreter[]>;
  } | null = null;
  private readonly probe: (python: string) => Promise<InterpreterFacts>;
  private readonly search: () => Promise<FoundInterpreter[]>;
  private readonly now: () => number;
}

type Place = Pick<
  EnvironmentView,
  'python' | 'name' | 'source' | 'kernelspec' | 'displayName'
>;

function own(python: string): Place {
  return {
    python,
    name: 'default',
    source: 'bridge',
    kernelspec: null,
    displayName: null
  };
}

function ofKernelspec(kernelspec: Kernelspec, python: string): Place {
  return {
    python,
    name: kernelspec.name,
    source: 'kernelspec',
    kernelspec: kernelspec.name,
    displayName: kernelspec.displayName
  };
}

function viewOf(place: Place, facts: InterpreterFacts): EnvironmentView {
  return {
    ...place,
    pythonVersion: facts.pythonVersion,
    dask: facts.dask,
    distributed: facts.distributed,
    usable: facts.usable,
    whyNot: facts.whyNot
  };
}

/** Installing a package changes the folder it goes to; replacing Python changes its file. */
async function stampOf(
  python: string,
  folders: readonly string[]
): Promise<string> {
  const stamps = await Promise.all(
    [python, ...folders].map(path =>
      stat(path, { bigint: true }).then(
        found => `${found.ino}:${found.mtimeNs}`,
        () => 'gone'
      )
    )
  );
  return stamps.join(' ');
}
