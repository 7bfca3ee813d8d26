/** Each action answers: its failure is a notification in the server's own words, never a dialog. */
import { Clipboard, Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { MusterError } from '../../protocol/index.js';

/** The error as a person can read and pass it on. */
export function errorText(error: unknown): string {
  if (error instanceof MusterError) {
    return [
      error.message,
      error.hint ?? '',
      error.details === undefined ? '' : JSON.stringify(error.details, null, 2)
    ]
      .filter(line => line !== '')
      .join('\n');
  }
  return error instanceof Error ? error.message : String(error);
}

export function reportError(
  what: string,
  error: unknown,
  trans: TranslationBundle
): void {
  const said = error instanceof Error ? error.message : String(error);
  const hint = error instanceof MusterError ? error.hint : undefined;
  Notification.error(
    [`${what}: ${said}`, hint ?? ''].filter(line => line !== '').join('\n'),
    {
      autoClose: false,
      actions: [
        {
          label: trans.__('Copy error details'),
          callback: () => {
            Clipboard.copyToSystem(errorText(error));
          }
        }
      ]
    }
  );
}

/** @returns what the action answered, or null where it failed and that was said. */
export async function attempt<T>(
  action: Promise<T>,
  what: string,
  trans: TranslationBundle
): Promise<T | null> {
  try {
    return await action;
  } catch (error) {
    reportError(what, error, trans);
    return null;
  }
}
