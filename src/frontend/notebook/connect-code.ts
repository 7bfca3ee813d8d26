/** The code a user sees: the bridge's own snippet, in the language of where it goes. */
import type { ConnectionView } from '../../protocol/index.js';

export type ConnectCode =
  | { code: string }
  /** There is no snippet for this language. */
  | { code: null; language: string };

/**
 * @param language as from `languageAt`; null: none known, and Dask's own language is meant.
 */
export function connectCode(
  connection: ConnectionView,
  language: string | null
): ConnectCode {
  switch (language) {
    case null:
    case '':
    case 'python':
    case 'ipython':
      return { code: connection.snippets.python.trimEnd() };
    case 'bash':
    case 'shell':
    case 'sh':
    case 'zsh':
      return { code: connection.snippets.env.trimEnd() };
    default:
      return { code: null, language };
  }
}
