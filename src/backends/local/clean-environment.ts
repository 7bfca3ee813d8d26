/**
 * The environment local processes get beside their launch's own: what a program of this user needs
 * to find its way, and nothing of Jupyter's or the bridge's (tokens, secrets, sockets).
 */
import { delimiter, dirname } from 'node:path';

const NAMES = new Set([
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TMPDIR',
  'HOSTNAME',
  'PYTHONPATH',
  'PYTHONUSERBASE',
  'PYTHONNOUSERSITE',
  'LD_LIBRARY_PATH',
  'DYLD_LIBRARY_PATH',
  'DYLD_FALLBACK_LIBRARY_PATH',
  'MODULEPATH',
  'LMOD_CMD',
  'MODULESHOME',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'KRB5_CONFIG',
  'KRB5CCNAME',
  'DASK_CONFIG',
  'DASK_ROOT_CONFIG',
  'DASK_TEMPORARY_DIRECTORY'
]);
const PREFIXES = ['LC_', 'XDG_'];
const PROXIES = /^(https?|ftp|all|no)_proxy$/i;
const FALLBACK_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * @param from the bridge's own environment.
 * @param python absolute interpreter; its folder comes first on PATH, so that tasks which call a
 *   tool by name get the one of their own environment.
 */
export function cleanEnvironment(
  from: Readonly<Record<string, string | undefined>>,
  python: string
): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    const wanted =
      NAMES.has(name) ||
      PROXIES.test(name) ||
      PREFIXES.some(prefix => name.startsWith(prefix));
    if (wanted && value !== undefined) {
      clean[name] = value;
    }
  }
  const folder = dirname(python);
  const path = from['PATH'] ?? FALLBACK_PATH;
  clean['PATH'] =
    path.split(delimiter)[0] === folder ? path : `${folder}${delimiter}${path}`;
  return clean;
}
