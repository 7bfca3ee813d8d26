/** A log with follow, search, wrap and download. */
import { downloadIcon } from '@jupyterlab/ui-components';
import {
  useContext,
  useEffect,
  useMemo,
  useReducer,
  useRef,
  useState
} from 'react';
import { reportError } from '../../actions/report.js';
import { VisibleContext } from '../../elements/clock.js';
import { IconButton } from '../../elements/icon-button.js';
import { useMuster } from '../../elements/muster-context.js';
import { LogReader } from './log-reader.js';
import { hits, LogText } from './log-text.js';

export type LogSource = { what: string; label: string };

export function LogView(props: {
  cluster: string;
  clusterName: string;
  sources: readonly LogSource[];
  what: string;
  onWhat: (what: string) => void;
  /** Nothing grows any more: no following. */
  isOver: boolean;
}): React.JSX.Element {
  const { client, trans } = useMuster();
  const { cluster, what } = props;
  const [stream, setStream] = useState<'stderr' | 'stdout'>('stderr');
  const [reader, setReader] = useState<LogReader | null>(null);
  const [, again] = useReducer((count: number) => count + 1, 0);
  const [search, setSearch] = useState('');
  const [hit, setHit] = useState(0);
  const [isWrapped, setIsWrapped] = useState(true);
  const scroller = useRef<HTMLDivElement | null>(null);
  const isOver = props.isOver;

  useEffect(() => {
    const created = new LogReader({ client, cluster, what, stream });
    created.changed.connect(again);
    if (isOver) {
      created.follows = false;
    }
    setReader(created);
    return () => {
      created.changed.disconnect(again);
      created.dispose();
    };
  }, [client, cluster, what, stream, isOver]);

  const isVisible = useContext(VisibleContext);
  useEffect(() => {
    if (reader !== null) {
      reader.isActive = isVisible;
    }
  }, [reader, isVisible]);

  const lines = reader?.lines ?? [];
  const wanted = search.trim().toLowerCase();
  const found = useMemo(() => hits(lines, wanted), [lines, wanted]);
  const current = found[Math.min(hit, found.length - 1)] ?? -1;

  useEffect(() => {
    const node = scroller.current;
    if (node !== null && reader?.follows === true && wanted === '') {
      node.scrollTop = node.scrollHeight;
    }
  }, [lines, reader, reader?.follows, wanted]);
  useEffect(() => {
    scroller.current
      ?.querySelector('.jp-mod-current')
      ?.scrollIntoView({ block: 'center' });
  }, [current]);

  const known = props.sources.some(source => source.what === what);
  return (
    <section className="jp-MusterLog" aria-label={trans.__('Log')}>
      <div className="jp-MusterLog-bar" role="toolbar">
        <select
          className="jp-MusterField"
          aria-label={trans.__('Whose log')}
          value={what}
          onChange={event => {
            props.onWhat(event.currentTarget.value);
          }}
        >
          {known ? null : <option value={what}>{what}</option>}
          {props.sources.map(source => (
            <option key={source.what} value={source.what}>
              {source.label}
            </option>
          ))}
        </select>
        <select
          className="jp-MusterField"
          aria-label={trans.__('Stream')}
          value={stream}
          onChange={event => {
            setStream(event.currentTarget.value as 'stderr' | 'stdout');
          }}
        >
          <option value="stderr">{trans.__('errors (stderr)')}</option>
          <option value="stdout">{trans.__('output (stdout)')}</option>
        </select>
        <input
          className="jp-MusterField jp-MusterLog-search"
          type="search"
          placeholder={trans.__('Search')}
          aria-label={trans.__('Search in the log')}
          value={search}
          onChange={event => {
            setSearch(event.currentTarget.value);
            setHit(0);
          }}
          onKeyDown={event => {
            if (event.key === 'Enter' && found.length > 0) {
              const step = event.shiftKey ? found.length - 1 : 1;
              setHit((hit + step) % found.length);
            }
          }}
        />
        <span className="jp-MusterLog-hits" role="status">
          {wanted === ''
            ? ''
            : found.length === 0
              ? trans.__('none')
              : trans.__(
                  '%1 of %2',
                  Math.min(hit, found.length - 1) + 1,
                  found.length
                )}
        </span>
        <span className="jp-MusterSpring" />
        <label className="jp-MusterNew-check">
          <input
            type="checkbox"
            checked={reader?.follows ?? true}
            onChange={event => {
              if (reader !== null) {
                reader.follows = event.currentTarget.checked;
              }
            }}
          />
          {trans.__('Follow')}
        </label>
        <label className="jp-MusterNew-check">
          <input
            type="checkbox"
            checked={isWrapped}
            onChange={event => {
              setIsWrapped(event.currentTarget.checked);
            }}
          />
          {trans.__('Wrap')}
        </label>
        <IconButton
          icon={downloadIcon}
          label={trans.__('Download')}
          onClick={() => {
            if (reader !== null) {
              download(
                reader,
                `${props.clusterName}-${what}.${stream}.log`
              ).catch((error: unknown) => {
                reportError(
                  trans.__('The log could not be downloaded'),
                  error,
                  trans
                );
              });
            }
          }}
        />
      </div>
      {reader?.error != null ? (
        <p className="jp-MusterHint" role="status">
          {trans.__('This log cannot be read: %1', reader.error)}
        </p>
      ) : null}
      <div
        ref={scroller}
        className="jp-MusterLog-scroller"
        tabIndex={0}
        aria-label={trans.__('Log of %1', what)}
        onWheel={event => {
          // Whoever scrolls up wants to read, not to be dragged back to the end.
          if (event.deltaY < 0 && reader?.follows === true) {
            reader.follows = false;
          }
        }}
      >
        {reader?.hasEarlier === true ? (
          <button
            type="button"
            className="jp-MusterLink"
            onClick={() => {
              reader.follows = false;
              void reader.loadEarlier();
            }}
          >
            {trans.__('Show earlier lines')}
          </button>
        ) : null}
        {reader?.isLoaded === true && lines.length === 0 ? (
          <p className="jp-MusterHint">{trans.__('Nothing written yet.')}</p>
        ) : null}
        <LogText
          lines={lines}
          search={wanted}
          current={current}
          isWrapped={isWrapped}
        />
      </div>
    </section>
  );
}

async function download(reader: LogReader, name: string): Promise<void> {
  const url = URL.createObjectURL(
    new Blob([await reader.whole()], { type: 'text/plain' })
  );
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  window.setTimeout(() => {
    URL.revokeObjectURL(url);
  }, 10_000);
}
