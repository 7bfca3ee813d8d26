/** The exact scripts, commands or manifests; nothing has been started. */
import { Clipboard } from '@jupyterlab/apputils';
import { copyIcon } from '@jupyterlab/ui-components';
import { IconButton } from '../../elements/icon-button.js';
import { useMuster } from '../../elements/muster-context.js';
import type { PreviewView } from '../../../protocol/index.js';

export function Preview(props: {
  preview: PreviewView;
  onBack: () => void;
}): React.JSX.Element {
  const { trans } = useMuster();
  const { preview } = props;
  return (
    <section
      className="jp-MusterNew-preview"
      aria-label={trans.__('What would be run')}
    >
      <div className="jp-MusterNew-heading">
        <h3>{trans.__('What would be run')}</h3>
        <button
          type="button"
          className="jp-MusterButton"
          onClick={props.onBack}
        >
          {trans.__('Back')}
        </button>
      </div>
      <p>{preview.summary}</p>
      {preview.jobs.map((job, index) => {
        const body = job.script ?? job.argv.map(quoted).join(' ');
        const variables = Object.entries(job.environment);
        return (
          <article key={index}>
            <h4>
              <span>
                {job.group ?? trans.__('scheduler')} ·{' '}
                {trans._n('%1 job', '%1 jobs', job.count)}
                {job.workers > 0
                  ? ` × ${trans._n('%1 worker', '%1 workers', job.workers)}`
                  : ''}
              </span>
              <IconButton
                icon={copyIcon}
                label={trans.__('Copy')}
                onClick={() => {
                  Clipboard.copyToSystem(body);
                }}
              />
            </h4>
            {[...job.warnings, ...job.notHonoured].map(line => (
              <p key={line} className="jp-MusterNote jp-type-warn">
                {line}
              </p>
            ))}
            {job.script === null ? null : (
              <pre className="jp-MusterNew-argv">
                {job.argv.map(quoted).join(' ')}
              </pre>
            )}
            <pre>{body}</pre>
            {variables.length === 0 ? null : (
              <details>
                <summary>
                  {trans._n('%1 variable', '%1 variables', variables.length)}
                </summary>
                <pre>
                  {variables
                    .map(([name, value]) => `${name}=${value}`)
                    .join('\n')}
                </pre>
              </details>
            )}
          </article>
        );
      })}
    </section>
  );
}

/** As a shell would have to be told, for reading and copying. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word)
    ? word
    : `'${word.replaceAll("'", "'\\''")}'`;
}
