/**
 * Logs are foreign text: colours (SGR) become classes, everything else that steers a terminal or
 * turns text around is taken out. Pure; what is shown are text nodes only.
 * SGR as in ECMA-48 §8.3.117; 256 and true colour as xterm writes them.
 */

export type Span = {
  text: string;
  /** Of JupyterLab's own `ansi-…` classes. */
  className: string;
  color?: string;
  background?: string;
};
export type Line = readonly Span[];

const NAMES = [
  'black',
  'red',
  'green',
  'yellow',
  'blue',
  'magenta',
  'cyan',
  'white'
] as const;

// eslint-disable-next-line no-control-regex -- finding control sequences is the purpose
const SGR = /\u001b\[([0-9;:]*)m/;
/** OSC, DCS, APC, PM, SOS strings; other CSI; two-character escapes. */
const STEERING =
  // eslint-disable-next-line no-control-regex -- finding control sequences is the purpose
  /\u001b(?:[\]PX^_][\s\S]*?(?:\u0007|\u001b\\|$)|\[[0-?]*[ -/]*(?:[@-ln-~]|$)|[ -/]*[0-OQ-WYZ\\`-~])|\u009b[0-?]*[ -/]*[@-~]/g;
/** C0 but tab, newline, return and escape; C1; marks that reorder or hide text (CVE-2021-42574). */
const HIDDEN =
  // eslint-disable-next-line no-control-regex -- finding control characters is the purpose
  /[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Keeps colours over line and chunk ends, as a terminal does. */
export class AnsiReader {
  /** The lines of a chunk; the first goes on where the last chunk's last line ended. */
  read(chunk: string): Line[] {
    const clean = chunk.replace(STEERING, '').replace(HIDDEN, '');
    return clean.split(/\r*\n/).map(line => this._line(line));
  }

  private _line(raw: string): Line {
    // A progress bar writes over its own line: what was written last is what is seen.
    const seen = raw.replace(/\r+$/, '');
    const text = seen.slice(seen.lastIndexOf('\r') + 1);
    const spans: Span[] = [];
    let rest = text;
    for (;;) {
      const match = SGR.exec(rest);
      const plain = (match === null ? rest : rest.slice(0, match.index))
        // A lone escape that began no sequence.
        .replaceAll('\u001b', '');
      if (plain !== '') {
        spans.push({ text: plain, ...this._style() });
      }
      if (match === null) {
        return spans;
      }
      this._apply(match[1] ?? '');
      rest = rest.slice(match.index + match[0].length);
    }
  }

  private _style(): Omit<Span, 'text'> {
    const classes: string[] = [];
    const style: { color?: string; background?: string } = {};
    const [front, back] = this._isInverse
      ? [this._back, this._front]
      : [this._front, this._back];
    if (typeof front === 'string') {
      style.color = front;
    } else if (front !== null) {
      classes.push(`ansi-${nameOf(front)}-fg`);
    } else if (this._isInverse) {
      classes.push('ansi-default-inverse-fg');
    }
    if (typeof back === 'string') {
      style.background = back;
    } else if (back !== null) {
      classes.push(`ansi-${nameOf(back)}-bg`);
    } else if (this._isInverse) {
      classes.push('ansi-default-inverse-bg');
    }
    if (this._isBold) {
      classes.push('ansi-bold');
    }
    if (this._isUnderlined) {
      classes.push('ansi-underline');
    }
    return { className: classes.join(' '), ...style };
  }

  private _apply(parameters: string): void {
    const codes = parameters
      .split(/[;:]/)
      .map(part => (part === '' ? 0 : Number(part)));
    for (let index = 0; index < codes.length; index += 1) {
      const code = codes[index] ?? 0;
      if (code === 0) {
        this._front = null;
        this._back = null;
        this._isBold = false;
        this._isUnderlined = false;
        this._isInverse = false;
      } else if (code === 1) {
        this._isBold = true;
      } else if (code === 4) {
        this._isUnderlined = true;
      } else if (code === 7) {
        this._isInverse = true;
      } else if (code === 22) {
        this._isBold = false;
      } else if (code === 24) {
        this._isUnderlined = false;
      } else if (code === 27) {
        this._isInverse = false;
      } else if (code >= 30 && code <= 37) {
        this._front = code - 30;
      } else if (code === 39) {
        this._front = null;
      } else if (code >= 40 && code <= 47) {
        this._back = code - 40;
      } else if (code === 49) {
        this._back = null;
      } else if (code >= 90 && code <= 97) {
        this._front = code - 90 + 8;
      } else if (code >= 100 && code <= 107) {
        this._back = code - 100 + 8;
      } else if (code === 38 || code === 48) {
        const [color, used] = extended(codes.slice(index + 1));
        index += used;
        if (color !== null && code === 38) {
          this._front = color;
        } else if (color !== null) {
          this._back = color;
        }
      }
    }
  }

  /** 0…15 of the theme's colours, or a colour of its own. */
  private _front: number | string | null = null;
  private _back: number | string | null = null;
  private _isBold = false;
  private _isUnderlined = false;
  private _isInverse = false;
}

function nameOf(color: number): string {
  const name = NAMES[color % 8] ?? 'black';
  return color >= 8 ? `${name}-intense` : name;
}

/** After 38 or 48: `5;n` or `2;r;g;b`; the colour and how many codes it took. */
function extended(codes: readonly number[]): [number | string | null, number] {
  const byte = (value: number | undefined): number =>
    Math.min(255, Math.max(0, value ?? 0));
  if (codes[0] === 2) {
    return [`rgb(${byte(codes[1])}, ${byte(codes[2])}, ${byte(codes[3])})`, 4];
  }
  if (codes[0] !== 5) {
    return [null, 0];
  }
  const color = byte(codes[1]);
  if (color < 16) {
    return [color, 2];
  }
  if (color >= 232) {
    const grey = 8 + (color - 232) * 10;
    return [`rgb(${grey}, ${grey}, ${grey})`, 2];
  }
  const step = (value: number): number => (value === 0 ? 0 : 55 + value * 40);
  const cube = color - 16;
  const [red, green, blue] = [
    Math.floor(cube / 36),
    Math.floor(cube / 6) % 6,
    cube % 6
  ].map(step);
  return [`rgb(${red ?? 0}, ${green ?? 0}, ${blue ?? 0})`, 2];
}
