import type { Tone } from './words.js';

/** State as a shape and a colour, and always as a word: for readers and on hover. */
export function Dot(props: { tone: Tone; word: string }): React.JSX.Element {
  return (
    <span
      className={`jp-MusterDot jp-type-${props.tone}`}
      role="img"
      aria-label={props.word}
      title={props.word}
    />
  );
}
