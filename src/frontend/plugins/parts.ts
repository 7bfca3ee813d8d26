/** What our own plugins share and others have no business with. */
import { Token } from '@lumino/coreutils';
import type { CommandTarget } from '../actions/command-target.js';
import type { Muster } from '../elements/muster-context.js';
import type { MusterSettings } from '../model/settings.js';

export interface IMusterParts {
  readonly muster: Muster;
  readonly settings: MusterSettings;
  readonly target: CommandTarget;
}

/** Provided by `plugin`, required by the panel's other plugins. */
export const IMusterParts = new Token<IMusterParts>(
  'jupyterlab-muster:IMusterParts',
  'Collaborators shared by Muster’s own plugins.'
);
