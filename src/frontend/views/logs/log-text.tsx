/** The lines of a log: text nodes with classes, drawn in blocks the browser skips while off screen. */
import { memo } from 'react';
import type { Line, Span } from './ansi.js';

const BLOCK = 200;

export function LogText(props: {
  lines: readonly Line[];
  search: string;
  /** Index of the line that is the current hit, or -1. */
  current: number;
  isWrapped: boolean;
}): React.JSX.Element {
  const blocks: React.JSX.Element[] = [];
  for (let start = 0; start < props.lines.length; start += BLOCK) {
    const lines = props.lines.slice(start, start + BLOCK);
    const current = props.current - start;
    blocks.push(
      <LogBlock
        key={start}
        lines={lines}
        last={lines.at(-1)}
        search={props.search}
        current={current >= 0 && current < BLOCK ? current : -1}
      />
    );
  }
  return (
    <div
      className={`jp-RenderedText jp-MusterLog-text ${props.isWrapped ? 'jp-mod-wrap' : ''}`}
    >
      <pre>{blocks}</pre>
    </div>
  );
}

const LogBlock = memo(
  function LogBlock(props: {
    lines: readonly Line[];
    last: Line | undefined;
    search: string;
    current: number;
  }): React.JSX.Element {
    return (
      <span className="jp-MusterLog-block">
        {props.lines.map((line, index) => (
          <span
            key={index}
            className={`jp-MusterLog-line ${index === props.current ? 'jp-mod-current' : ''}`}
          >
            {line.map((span, at) => (
              <LogSpan key={at} span={span} search={props.search} />
            ))}
            {'\n'}
          </span>
        ))}
      </span>
    );
  },
  // Lines never change once whole, so a block is told by its length and its last line.
  (a, b) =>
    a.lines.length === b.lines.length &&
    a.last === b.last &&
    a.search === b.search &&
    a.current === b.current
);

function LogSpan(props: { span: Span; search: string }): React.JSX.Element {
  const { span, search } = props;
  const style = {
    ...(span.color === undefined ? {} : { color: span.color }),
    ...(span.background === undefined ? {} : { background: span.background })
  };
  return (
    <span className={span.className} style={style}>
      {search === '' ? span.text : marked(span.text, search)}
    </span>
  );
}

function marked(text: string, search: string): React.ReactNode {
  const parts: React.ReactNode[] = [];
  const lower = text.toLowerCase();
  let from = 0;
  for (
    let at = lower.indexOf(search);
    at >= 0;
    at = lower.indexOf(search, from)
  ) {
    parts.push(text.slice(from, at));
    parts.push(<mark key={at}>{text.slice(at, at + search.length)}</mark>);
    from = at + search.length;
  }
  parts.push(text.slice(from));
  return parts;
}

/** Indexes of the lines that hold the words, in whatever case. */
export function hits(lines: readonly Line[], search: string): number[] {
  if (search === '') {
    return [];
  }
  const found: number[] = [];
  lines.forEach((line, index) => {
    if (
      line
        .map(span => span.text)
        .join('')
        .toLowerCase()
        .includes(search)
    ) {
      found.push(index);
    }
  });
  return found;
}
