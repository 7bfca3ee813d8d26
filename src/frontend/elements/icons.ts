/** Our icons: svg with JupyterLab's icon classes, so that every theme recolours them. */
import { LabIcon } from '@jupyterlab/ui-components';
import { ICON_SOURCE } from './icon-source.js';

export const clustersIcon = new LabIcon({
  name: 'jupyterlab-muster:clusters',
  svgstr: ICON_SOURCE.clusters
});
export const barsIcon = new LabIcon({
  name: 'jupyterlab-muster:bars',
  svgstr: ICON_SOURCE.bars
});
export const plotIcon = new LabIcon({
  name: 'jupyterlab-muster:plot',
  svgstr: ICON_SOURCE.plot
});
export const plugIcon = new LabIcon({
  name: 'jupyterlab-muster:plug',
  svgstr: ICON_SOURCE.plug
});
export const waitIcon = new LabIcon({
  name: 'jupyterlab-muster:wait',
  svgstr: ICON_SOURCE.wait
});
export const warningIcon = new LabIcon({
  name: 'jupyterlab-muster:warning',
  svgstr: ICON_SOURCE.warning
});
export const linesIcon = new LabIcon({
  name: 'jupyterlab-muster:lines',
  svgstr: ICON_SOURCE.lines
});
export const openIcon = new LabIcon({
  name: 'jupyterlab-muster:open',
  svgstr: ICON_SOURCE.open
});
export const pinIcon = new LabIcon({
  name: 'jupyterlab-muster:pin',
  svgstr: ICON_SOURCE.pin
});
