"""The console script: what it hands to Node, and what it says without one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jupyterlab_muster import cli


def test_node_is_given_all_it_needs_to_find_and_start_the_bridge(places: Path) -> None:
    argv, environ = cli.command(["list", "--json"], dict(os.environ))
    assert Path(argv[0]).name == "node"
    assert argv[1].endswith("bridge.mjs")
    assert argv[2:] == ["cli", "list", "--json"]
    assert environ["MUSTER_CLI_PYTHON"] == sys.executable
    assert environ["MUSTER_RUNTIME_DIR"] == str(places / "run")
    assert environ["MUSTER_STATE_ROOT"] == str(places / "state")
    assert "/etc/jupyter" in environ["MUSTER_CONFIG_PATHS"].split(",")
    starter = json.loads(environ["MUSTER_STARTER"])
    assert starter == [sys.executable, "-m", "jupyterlab_muster.bridge", "start", "--json"]


def test_the_command_becomes_node_and_leaves_no_python_behind(places: Path, tmp_path: Path) -> None:
    """It is replaced, not wrapped: signals and the exit code are Node's own."""
    fake = tmp_path / "node"
    fake.write_text(
        '#!/bin/sh\ncase "$1" in --version) echo v24.1.0;; -p) exit 1;;'
        ' *) echo "$$ $2"; exit 7;; esac\n'
    )
    fake.chmod(0o755)
    # A script whose real binary cannot be asked for is no Node.
    real = tmp_path / "real"
    real.write_text(fake.read_text().replace("-p) exit 1", f"-p) echo {fake}"))
    real.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab_muster.cli", "list"],
        env={**os.environ, "MUSTER_NODE": str(real)},
        stdout=subprocess.PIPE,
        text=True,
    )
    out, _ = process.communicate(timeout=30)
    assert out == f"{process.pid} cli\n"
    assert process.returncode == 7


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"]])
def test_without_node_it_says_what_was_tried_and_the_fix(
    places: Path, arguments: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "jupyterlab_muster.cli", *arguments],
        env={**os.environ, "MUSTER_NODE": "/nowhere/node"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert "tried MUSTER_NODE: /nowhere/node: no such file" in done.stderr
    assert "fix: point MUSTER_NODE at a Node 24" in done.stderr
    assert "Traceback" not in done.stderr
    if "--json" in arguments:
        assert json.loads(done.stdout)["error"]["code"] == "bridge-unavailable"
    else:
        assert done.stdout == ""
