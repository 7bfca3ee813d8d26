/** Servers on which something is missing. */
import { join } from 'node:path';
import type { ServerOptions } from './server.js';

export const halfMissing: ServerOptions = {
  configuration:
    'c.ServerApp.jpserver_extensions = {"jupyterlab_muster": False}'
};

export const nodeMissing: ServerOptions = {
  configuration: 'c.Muster.node_path = "/absent/node"'
};

export const failingBridge: ServerOptions = {
  configuration: 'c.Muster.bridge_args = ["--no-such-argument"]'
};

/** A bridge that is starting for as long as anybody wants to look. */
export const slowBridge: ServerOptions = {
  configuration: `
import os, pathlib
import jupyterlab_muster.bridge as _bridge
os.environ["MUSTER_TEST_BRIDGE"] = str(_bridge.bundle())
_bridge.bundle = lambda: pathlib.Path(${JSON.stringify(join(import.meta.dirname, 'slow-bridge.mjs'))})
`
};
