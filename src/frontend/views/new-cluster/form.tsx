/** The dialog's whole content: places, form, and what will happen. */
import { useEffect, useMemo, useRef, useState } from 'react';
import { useClusters, useMuster } from '../../elements/muster-context.js';
import { textOf } from '../../elements/text-of.js';
import { Segmented } from '../../elements/segmented.js';
import { hasEnded } from '../../model/cluster-order.js';
import type {
  BackendView,
  ClusterView,
  EnvironmentView,
  PreviewView,
  ProfileView
} from '../../../protocol/index.js';
import { formatPath, MusterError } from '../../../protocol/index.js';
import type { Draft, Problem } from './draft.js';
import { draftFrom, newGroup, problemsOf, specOf } from './draft.js';
import { EnvironmentSelect, mismatch } from './environment-select.js';
import { FieldRow } from './field-row.js';
import type { NewClusterStart } from './first-draft.js';
import { firstDraft } from './first-draft.js';
import { Footer } from './footer.js';
import { GroupTable } from './group-table.js';
import { Lifetime } from './lifetime.js';
import { OptionInputs } from './option-inputs.js';
import { optionFields } from './option-schema.js';
import type { Place } from './place-list.js';
import { PlaceList } from './place-list.js';
import { Preview } from './preview.js';
import { sentenceOf } from './sentence.js';

export function NewClusterForm(props: {
  start: NewClusterStart;
  backends: readonly BackendView[];
  profiles: readonly ProfileView[];
  environments: readonly EnvironmentView[];
  /** The bridge keeps profiles for users. */
  canSaveProfiles: boolean;
  onCreated: (view: ClusterView) => void;
  onCancel: () => void;
}): React.JSX.Element {
  const { client, model, service, trans } = useMuster();
  const { backends, profiles, environments } = props;
  useClusters();
  const notebook = service.notebook?.kernelspec ?? null;
  const [draft, setDraft] = useState(() =>
    firstDraft(props.start, backends, profiles, environments, notebook)
  );
  const [refused, setRefused] = useState<MusterError | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const [preview, setPreview] = useState<PreviewView | null>(null);
  /** Answers to what was asked before the last change are stale (W19). */
  const asked = useRef(0);
  const key = useRef(newKey());

  const change = (part: Partial<Draft>): void => {
    setDraft(old => ({ ...old, ...part }));
    setRefused(null);
    setPreview(null);
    asked.current += 1;
    key.current = newKey();
  };

  const taken = useMemo(
    () =>
      new Set(
        model.clusters.filter(view => !hasEnded(view)).map(view => view.name)
      ),
    [model.clusters]
  );
  const problems = useMemo(() => {
    const found = problemsOf(draft, taken);
    return refused === null ? found : [...found, ...problemsOfServer(refused)];
  }, [draft, taken, refused]);
  const problemAt = (...paths: string[]): string | null =>
    problems.find(problem => paths.some(path => problem.path === path))
      ?.message ?? null;

  const backend = backends.find(one => one.name === draft.backend);
  const fields = useMemo(
    () => optionFields(backend?.specSchema ?? {}),
    [backend]
  );

  const choosePlace = (place: Place): void => {
    const chosen = backends.find(one => one.name === place.backend);
    const profile = profiles.find(one => one.name === place.profile);
    const next = draftFrom({
      spec: profile?.spec ?? {},
      profile: profile?.name ?? null,
      backend: chosen
    });
    change({
      ...next,
      // What was typed and means the same elsewhere stays.
      name: draft.name,
      ...(next.kernelspec === null && next.python === null
        ? { kernelspec: draft.kernelspec, python: draft.python }
        : {})
    });
  };

  const send = async <T,>(action: () => Promise<T>): Promise<T | null> => {
    const mine = (asked.current += 1);
    setIsBusy(true);
    setRefused(null);
    try {
      const answer = await action();
      return mine === asked.current ? answer : null;
    } catch (error) {
      if (mine === asked.current) {
        setRefused(asMusterError(error));
      }
      return null;
    } finally {
      setIsBusy(false); // also after a drop of the network (W20)
    }
  };

  useEffect(
    () => () => {
      asked.current += 1;
    },
    []
  );

  const isLocal = draft.backend === 'local';
  return (
    <div className="jp-MusterNew">
      <div className="jp-MusterNew-main">
        <PlaceList
          profiles={profiles}
          backends={backends}
          chosen={{ profile: draft.profile, backend: draft.backend }}
          onChoose={choosePlace}
        />
        {preview !== null ? (
          <Preview
            preview={preview}
            onBack={() => {
              setPreview(null);
            }}
          />
        ) : (
          <form
            className="jp-MusterNew-form"
            aria-label={trans.__('New cluster')}
            onSubmit={event => {
              event.preventDefault();
            }}
          >
            <FieldRow label={trans.__('Name')} problem={problemAt('name')}>
              {attributes => (
                <input
                  {...attributes}
                  className={`jp-MusterField jp-type-name ${attributes['aria-invalid'] ? 'jp-mod-error' : ''}`}
                  type="text"
                  autoFocus
                  maxLength={60}
                  placeholder={trans.__('made up')}
                  value={draft.name}
                  onChange={event => {
                    change({ name: event.currentTarget.value });
                  }}
                />
              )}
            </FieldRow>
            <FieldRow
              label={trans.__('Environment')}
              hint={mismatch(environments, draft, notebook, trans) ?? ''}
              problem={problemAt(
                'environment.python',
                'environment.kernelspec',
                'environment'
              )}
            >
              {attributes => (
                <EnvironmentSelect
                  attributes={attributes}
                  environments={environments}
                  kernelspec={draft.kernelspec}
                  python={draft.python}
                  notebook={notebook}
                  onChoose={chosen => {
                    change({
                      kernelspec: chosen.kernelspec,
                      python: chosen.python
                    });
                  }}
                />
              )}
            </FieldRow>
            <GroupTable
              groups={draft.groups}
              problems={problems}
              hasGpus={
                backend?.capabilities.gpus === true ||
                draft.groups.some(group => group.gpus !== '0')
              }
              hasJobs={!isLocal && draft.backend !== 'ssh'}
              onChange={groups => {
                change({ groups });
              }}
              onAdd={() => {
                const names = new Set(draft.groups.map(group => group.name));
                let number = draft.groups.length + 1;
                while (names.has(`group-${number}`)) {
                  number += 1;
                }
                change({
                  groups: [
                    ...draft.groups,
                    { ...newGroup(backend, `group-${number}`), fixed: '1' }
                  ]
                });
              }}
            />
            {fields.length === 0 ? null : (
              <section aria-label={backend?.title ?? draft.backend}>
                <h3>{backend?.title ?? draft.backend}</h3>
                <OptionInputs
                  key={draft.backend}
                  fields={fields}
                  values={{ ...draft.groups[0]?.options, ...draft.options }}
                  problemAt={name =>
                    problems.find(problem =>
                      new RegExp(
                        `^groups\\[\\d+\\]\\.options\\.${name}\\b`
                      ).test(problem.path)
                    )?.message ?? null
                  }
                  onChange={(name, value) => {
                    change({ options: { ...draft.options, [name]: value } });
                  }}
                />
              </section>
            )}
            {isLocal ||
            (backend?.capabilities.schedulerPlacement.length ?? 0) <
              2 ? null : (
              <FieldRow
                label={trans.__('Scheduler')}
                problem={problemAt('scheduler.placement')}
              >
                {() => (
                  <Segmented
                    label={trans.__('Where the scheduler runs')}
                    value={draft.placement}
                    options={[
                      { value: 'bridge', label: trans.__('On this host') },
                      { value: 'job', label: trans.__('As a job') }
                    ]}
                    onChange={placement => {
                      change({ placement });
                    }}
                  />
                )}
              </FieldRow>
            )}
            <Lifetime draft={draft} problemAt={problemAt} onChange={change} />
          </form>
        )}
      </div>
      <Footer
        sentence={sentenceOf(draft, backend, trans)}
        problems={problems}
        groups={draft.groups}
        refused={refused}
        isBusy={isBusy}
        isPreview={preview !== null}
        onCancel={props.onCancel}
        onPreview={() => {
          void send(() => client.preview(specOf(draft))).then(answer => {
            if (answer !== null) {
              setPreview(answer);
            }
          });
        }}
        onSaveProfile={
          props.canSaveProfiles
            ? async name => {
                const { name: _, ...spec } = specOf(draft);
                await client.putProfile(name, spec);
              }
            : null
        }
        onCreate={() => {
          void send(() => client.create(specOf(draft), key.current)).then(
            view => {
              if (view !== null) {
                model.accept(view);
                model.select(view.id);
                props.onCreated(view);
              }
            }
          );
        }}
      />
    </div>
  );
}

/** What the server refused, at the fields it names. */
function problemsOfServer(error: MusterError): Problem[] {
  const listed = error.details?.['problems'];
  const problems = Array.isArray(listed)
    ? (listed as { path?: unknown; message?: unknown }[]).map(one => ({
        path: textOf(one.path),
        message: textOf(one.message)
      }))
    : error.path === undefined
      ? []
      : [{ path: error.path, message: error.message }];
  return problems.filter(problem => problem.path !== '');
}

function asMusterError(error: unknown): MusterError {
  return error instanceof MusterError
    ? error
    : new MusterError({
        code: 'internal',
        message: error instanceof Error ? error.message : String(error),
        path: formatPath([]),
        cause: error
      });
}

/** One wish, one key: pressing Create again after a lost answer makes no second cluster. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte =>
    byte.toString(16).padStart(2, '0')
  ).join('');
}
