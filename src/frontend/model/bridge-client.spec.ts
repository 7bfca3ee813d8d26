/** Requests as they go out, and what becomes of answers that are no success. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { MusterError } from '../../protocol/index.js';
import { FakeBridge } from '../fixtures/fake-bridge.js';
import { view } from '../fixtures/cluster-views.js';
import { BridgeClient } from './bridge-client.js';
import { isOffline } from './response-error.js';

let bridge: FakeBridge;
let client: BridgeClient;
const failure = async (): Promise<MusterError> => {
  const error: unknown = await client
    .backends()
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(MusterError);
  return error as MusterError;
};

beforeEach(() => {
  bridge = new FakeBridge();
  client = new BridgeClient({ serverSettings: bridge.settings });
});

describe('a request', () => {
  it('carries no parameter the bridge does not know (no cache-busting timestamp)', async () => {
    bridge.answer('GET', 'api/v1/clusters', {
      body: { items: [view()], next: null }
    });
    await client.clusters();
    expect(bridge.asked.at(-1)?.path).toBe('api/v1/clusters');
  });

  it('reads a list to its end, and does not ask for ever for the same page', async () => {
    bridge.answer('GET', 'api/v1/profiles', {
      body: { items: [{ name: 'a' }], next: 'same' }
    });
    expect(await client.profiles()).toHaveLength(2);
  });

  it('knows from the bridge’s own document what the bridge offers', async () => {
    const route = /\/profiles\/\{\w+\}$/;
    expect(await client.offers('put', route)).toBe(false);
    bridge.answer('GET', 'api/v1/openapi.json', {
      body: { paths: { '/api/v1/profiles/{name}': { put: {} } } }
    });
    expect(await client.offers('put', route)).toBe(true);
    expect(await client.offers('post', route)).toBe(false);
  });

  it('encodes what goes into an address', async () => {
    bridge.answer('GET', 'api/v1/clusters/a%2Fb/logs/x%3Fy', {
      text: 'é',
      headers: { 'X-Next-Offset': '77' }
    });
    const slice = await client.logs('a/b', 'x?y', {
      stream: 'stdout',
      offset: -10,
      limit: 10
    });
    expect(slice).toEqual({ text: 'é', nextOffset: 77 });
  });

  it('points a plot at the relay, whatever the plot’s path begins with', () => {
    expect(client.dashboardUrl('k3v9', '/individual-progress?x=1')).toBe(
      'http://localhost/user/x/muster/dashboards/k3v9/individual-progress?x=1'
    );
  });
});

describe('an answer that is no success', () => {
  it('is the bridge’s own error where it is one', async () => {
    bridge.answer('GET', 'api/v1/backends', {
      status: 422,
      body: {
        error: {
          code: 'submit-rejected',
          message: 'sbatch says no',
          path: 'groups[0]',
          hint: 'ask less',
          details: { raw: 1 }
        }
      }
    });
    expect(await failure()).toMatchObject({
      code: 'submit-rejected',
      message: 'sbatch says no',
      path: 'groups[0]',
      hint: 'ask less',
      details: { raw: 1 }
    });
  });

  it('keeps Jupyter’s own words of a refused login (row 23: no guessed cause)', async () => {
    bridge.answer('GET', 'api/v1/backends', {
      status: 403,
      body: {
        message: 'Forbidden',
        reason: "'_xsrf' argument missing from POST"
      }
    });
    expect(await failure()).toMatchObject({
      code: 'forbidden',
      message: "Forbidden: '_xsrf' argument missing from POST"
    });
  });

  it('is a sentence also where a proxy answers with a page', async () => {
    bridge.answer('GET', 'api/v1/backends', {
      status: 502,
      text: '<html>Bad gateway'
    });
    expect((await failure()).code).toBe('bridge-unavailable');
  });

  it('tells the network from the bridge (B25)', async () => {
    bridge.isOffline = true;
    expect(isOffline(await failure())).toBe(true);
    bridge.isOffline = false;
    bridge.answer('GET', 'api/v1/backends', { status: 503, body: {} });
    expect(isOffline(await failure())).toBe(false);
  });
});
