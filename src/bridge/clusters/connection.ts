/** What a notebook or a shell needs to reach a cluster. Values are encoded, never spliced. PURE. */
import type { ConnectionView } from '../../protocol/index.js';
import type { CertificateFiles } from './ports.js';

export function connectionView(options: {
  address: string;
  dashboard: string | null;
  tls: CertificateFiles | null;
}): ConnectionView {
  const { address, dashboard, tls } = options;
  const security =
    tls === null
      ? null
      : {
          caFile: tls.caFile,
          certFile: tls.client.certFile,
          keyFile: tls.client.keyFile
        };
  return {
    address,
    dashboard,
    security,
    snippets: {
      python: python(address, security),
      env: shell(address, security)
    }
  };
}

function python(address: string, security: ConnectionView['security']): string {
  if (security === null) {
    return `from distributed import Client\n\nclient = Client(${literal(address)})\nclient`;
  }
  return [
    'from distributed import Client, Security',
    '',
    'client = Client(',
    `    ${literal(address)},`,
    '    security=Security(',
    '        require_encryption=True,',
    `        tls_ca_file=${literal(security.caFile)},`,
    `        tls_client_cert=${literal(security.certFile)},`,
    `        tls_client_key=${literal(security.keyFile)},`,
    '    ),',
    ')',
    'client'
  ].join('\n');
}

/** A JSON string is a Python string literal with the same value, astral characters included. */
function literal(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}

function shell(address: string, security: ConnectionView['security']): string {
  const lines: [string, string][] = [['DASK_SCHEDULER_ADDRESS', address]];
  if (security !== null) {
    lines.push(
      ['DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION', 'True'],
      ['DASK_DISTRIBUTED__COMM__TLS__CA_FILE', security.caFile],
      ['DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT', security.certFile],
      ['DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY', security.keyFile]
    );
  }
  return lines
    .map(([name, value]) => `export ${name}=${singleQuoted(value)}`)
    .join('\n');
}

function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
