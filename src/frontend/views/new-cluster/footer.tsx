/** The dialog's bottom: what will happen or why it cannot, and the buttons. */
import { useState } from 'react';
import { useMuster } from '../../elements/muster-context.js';
import type { MusterError } from '../../../protocol/index.js';
import type { DraftGroup, Problem } from './draft.js';
import { problemSentence } from './problem-words.js';

export function Footer(props: {
  sentence: string | null;
  problems: readonly Problem[];
  groups: readonly DraftGroup[];
  refused: MusterError | null;
  isBusy: boolean;
  isPreview: boolean;
  onPreview: () => void;
  /** null: the bridge cannot keep profiles. */
  onSaveProfile: ((name: string) => Promise<void>) | null;
  onCancel: () => void;
  onCreate: () => void;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { problems, refused, isBusy } = props;
  const first = problems[0];
  // Only the form's own problems block: what the server refused may be tried again.
  const reason =
    first !== undefined && refused === null
      ? problemSentence(first, props.groups, trans)
      : null;
  const said =
    refused !== null
      ? [refused.message, refused.hint ?? ''].join(' ').trim()
      : (reason ?? props.sentence ?? '');
  return (
    <footer className="jp-MusterNew-footer">
      <p
        role="status"
        className={`jp-MusterNew-sentence ${refused !== null || reason !== null ? 'jp-mod-error' : ''}`}
        title={said}
      >
        {said}
      </p>
      {props.onSaveProfile === null ? null : (
        <SaveProfile
          isDisabled={isBusy || reason !== null}
          onSave={props.onSaveProfile}
        />
      )}
      <button
        type="button"
        className="jp-MusterButton"
        disabled={isBusy || reason !== null || props.isPreview}
        onClick={props.onPreview}
      >
        {trans.__('Preview')}
      </button>
      <button
        type="button"
        className="jp-MusterButton"
        onClick={props.onCancel}
      >
        {trans.__('Cancel')}
      </button>
      <button
        type="button"
        className="jp-MusterButton jp-mod-accent"
        disabled={isBusy || reason !== null}
        title={reason ?? trans.__('Create the cluster')}
        onClick={props.onCreate}
      >
        {isBusy ? trans.__('Asking…') : trans.__('Create')}
      </button>
    </footer>
  );
}

function SaveProfile(props: {
  isDisabled: boolean;
  onSave: (name: string) => Promise<void>;
}): React.JSX.Element {
  const { trans } = useMuster();
  const [name, setName] = useState<string | null>(null);
  const [answer, setAnswer] = useState('');
  if (name === null) {
    return (
      <>
        <span className="jp-MusterNew-note" role="status">
          {answer}
        </span>
        <button
          type="button"
          className="jp-MusterButton"
          disabled={props.isDisabled}
          onClick={() => {
            setName('');
            setAnswer('');
          }}
        >
          {trans.__('Save as profile')}
        </button>
      </>
    );
  }
  const save = (): void => {
    props.onSave(name.trim()).then(
      () => {
        setAnswer(trans.__('Saved as %1.', name.trim()));
        setName(null);
      },
      (error: unknown) => {
        setAnswer(error instanceof Error ? error.message : String(error));
        setName(null);
      }
    );
  };
  return (
    <span className="jp-MusterNew-save">
      <input
        className="jp-MusterField jp-mod-short"
        type="text"
        autoFocus
        aria-label={trans.__('Name of the profile')}
        placeholder={trans.__('profile name')}
        value={name}
        onChange={event => {
          setName(event.currentTarget.value);
        }}
        onKeyDown={event => {
          if (event.key === 'Enter' && name.trim() !== '') {
            save();
          }
        }}
      />
      <button
        type="button"
        className="jp-MusterButton"
        disabled={name.trim() === ''}
        onClick={save}
      >
        {trans.__('Save')}
      </button>
    </span>
  );
}
