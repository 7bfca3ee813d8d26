/** Small charts as plain svg: strokes from the theme, no library, nothing to redraw on a theme change. */

export type Series = {
  /** `[milliseconds, value]`, oldest first; null leaves a gap. */
  points: readonly (readonly [number, number | null])[];
  kind: 'line' | 'area' | 'stack' | 'dashed';
  tone: 'ok' | 'brand' | 'warn' | 'quiet';
};

const WIDTH = 240;
/** A step is drawn as a short ramp of this share of the width: easier to read than a wall. */
const RAMP = 0.03;

/** The polyline of a quantity that holds until it changes, up to now. */
export function heldLine(
  points: Series['points'],
  from: number,
  to: number,
  y: (value: number) => number,
  hold: boolean
): [number, number][] {
  const span = Math.max(1, to - from);
  const x = (time: number): number =>
    Math.min(WIDTH, Math.max(0, ((time - from) / span) * WIDTH));
  const line: [number, number][] = [];
  for (const [time, value] of points) {
    if (value === null) {
      continue;
    }
    const at = x(time);
    const last = line.at(-1);
    if (hold && last !== undefined && last[1] !== y(value)) {
      line.push([Math.max(last[0], at - RAMP * WIDTH), last[1]]);
    }
    line.push([at, y(value)]);
  }
  const last = line.at(-1);
  if (last !== undefined && last[0] < WIDTH) {
    line.push([WIDTH, last[1]]);
  }
  return line;
}

export function Chart(props: {
  label: string;
  series: readonly Series[];
  from: number;
  to: number;
  height: number;
  /** Top of the scale; by default the largest value shown. */
  maximum?: number;
  /** Counts hold until they change; measured quantities go straight from point to point. */
  hold: boolean;
}): React.JSX.Element {
  const { height, from, to, hold } = props;
  const largest = Math.max(
    props.maximum ?? 0,
    ...props.series.flatMap(one => one.points.map(([, value]) => value ?? 0)),
    1e-9
  );
  const y = (value: number): number =>
    height - 1.5 - (value / largest) * (height - 4);
  return (
    <svg
      className="jp-MusterChart"
      role="img"
      aria-label={props.label}
      viewBox={`0 0 ${WIDTH} ${height}`}
      preserveAspectRatio="none"
    >
      {props.series.map((one, index) => {
        const line = heldLine(one.points, from, to, y, hold);
        if (line.length === 0) {
          return null;
        }
        const path = line
          .map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`)
          .join(' L');
        const className = `jp-MusterChart-${one.kind} jp-type-${one.tone}`;
        return one.kind === 'area' || one.kind === 'stack' ? (
          <path
            key={index}
            className={className}
            d={`M${line[0]?.[0].toFixed(1) ?? '0'},${height} L${path} L${WIDTH},${height} Z`}
          />
        ) : (
          <path key={index} className={className} d={`M${path}`} />
        );
      })}
    </svg>
  );
}
