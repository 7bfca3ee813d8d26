"""The ``muster`` command: finds Node, folders, interpreter, then becomes Node (specs/api.md §3)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from . import folders
from .bridge import bundle
from .config import config_folders
from .errors import MusterError
from .node import find_node

#: Exit code for "bridge not reachable".
NOT_REACHABLE = 3


def command(
    arguments: Sequence[str], environ: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """(argv, environment) of the command's Node process.

    :raises BridgeUnavailable: no Node, no program, or a runtime folder that cannot be used.
    """
    node = find_node(None, environ)
    prepared = {
        **{key: value for key, value in environ.items() if key != "NODE_OPTIONS"},
        "MUSTER_CLI_PYTHON": sys.executable,
        "MUSTER_RUNTIME_DIR": str(folders.runtime_folder(None, environ)),
        "MUSTER_STATE_ROOT": str(folders.state_root(None, environ)),
        "MUSTER_CONFIG_PATHS": ",".join(config_folders()),
        "MUSTER_STARTER": json.dumps(
            [sys.executable, "-m", "jupyterlab_muster.bridge", "start", "--json"]
        ),
    }
    return [node.path, str(bundle()), "cli", *arguments], prepared


def main() -> NoReturn:
    """Entry point of the console script."""
    arguments = sys.argv[1:]
    try:
        argv, environ = command(arguments, os.environ)
    except MusterError as error:
        if "--json" in arguments:
            sys.stdout.write(json.dumps(error.body()) + "\n")
        sys.stderr.write(f"muster: {error.message}\n")
        for line in error.details.get("tried", []):
            sys.stderr.write(f"  tried {line}\n")
        if error.hint:
            sys.stderr.write(f"fix: {error.hint}\n")
        sys.exit(NOT_REACHABLE)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(argv[0], argv, environ)  # noqa: S606 - that is the point


if __name__ == "__main__":
    main()
