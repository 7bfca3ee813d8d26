/** The drawings of `icons.ts`; strings, so that no bundler setting is needed for svg files. */
const svg = (size: number, body: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 ${size} ${size}">${body}</svg>`;

const stroke = (width: number, body: string): string =>
  `<g class="jp-icon3 jp-icon-selectable" fill-opacity="0" stroke="#616161" stroke-width="${width}" stroke-linecap="round" stroke-linejoin="round">${body}</g>`;

/** Themes recolour `[fill]` and `[stroke]`: a drawing of strokes must not carry a `fill`, not even `none`. */
export const ICON_SOURCE = {
  clusters: svg(
    24,
    '<g class="jp-icon3 jp-icon-selectable" fill="#616161"><path fill-rule="evenodd" d="M12 2a3.6 3.6 0 0 1 1.75 6.75l3.6 6.36a3.6 3.6 0 1 1-1.73.98l-3.6-6.36h-.04l-3.6 6.36a3.6 3.6 0 1 1-1.73-.98l3.6-6.36A3.6 3.6 0 0 1 12 2Zm0 2a1.6 1.6 0 1 0 0 3.2A1.6 1.6 0 0 0 12 4ZM5.6 17a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2Zm12.8 0a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2Z"/><path d="M8.6 17.6h6.8v2H8.6z"/></g>'
  ),
  bars: svg(
    24,
    '<g class="jp-icon3 jp-icon-selectable" fill="#616161"><path d="M3 19h18v2H3zM5 11h3v6H5zM10.500 4h3v13h-3zM16 8h3v9h-3z"/></g>'
  ),
  plot: svg(
    24,
    '<g class="jp-icon3" fill="#616161"><path d="M4 5h16a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1Zm1 2v10h14V7Z" fill-rule="evenodd"/><path d="M7 12h2v4H7zM11 9h2v7h-2zM15 11h2v5h-2z"/></g>'
  ),
  plug: svg(
    24,
    '<g class="jp-icon3" fill="#616161"><path d="m20.700 4.700-3-3L16.300 3.100l1.500 1.500-2.300 2.300-1.700-1.700-1.400 1.400 5 5 1.400-1.400-1.700-1.700 2.300-2.300.700.700zM11 7.900 8.300 10.600a3.200 3.200 0 0 0-.2 4.300l-4.800 4.800 1.400 1.400 4.800-4.800a3.200 3.200 0 0 0 4.300-.2l2.700-2.700-1.400-1.400-1.300 1.300-2.300-2.300 1.300-1.300z"/></g>'
  ),
  wait: svg(
    24,
    stroke(2, '<circle cx="12" cy="12" r="9"/><path d="M12 7v5l3 2"/>')
  ),
  warning: svg(
    24,
    stroke(
      2,
      '<path d="M12 3.500 22 20.500H2Z"/><path d="M12 10v4.500M12 17.400v.1"/>'
    )
  ),
  lines: svg(
    24,
    '<g class="jp-icon3 jp-icon-selectable" fill="#616161"><path d="M4 4h16v2H4zM4 9h16v2H4zM4 14h16v2H4zM4 19h9v2H4z"/></g>'
  ),
  open: svg(
    24,
    '<g class="jp-icon3 jp-icon-selectable" fill="#616161"><path d="M5 5h6v2H7v10h10v-4h2v6H5zM13 5h6v6h-2V8.400l-6.300 6.300-1.400-1.400L15.600 7H13z"/></g>'
  ),
  pin: svg(
    24,
    '<g class="jp-icon3 jp-icon-selectable" fill="#616161"><path d="M16 3v2h-1v6l3 3v2h-5v6l-1 1-1-1v-6H6v-2l3-3V5H8V3z"/></g>'
  )
};
