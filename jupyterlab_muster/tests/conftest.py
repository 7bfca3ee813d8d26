"""Fixtures: folders of their own for each test, fake bridges, and no process left behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jupyterlab_muster.bridge import BridgeSettings, is_alive

pytest_plugins = ["pytest_jupyter.jupyter_server"]

FAKE = Path(__file__).parent / "fake_bridge.py"


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short folder with ``run`` and ``state``; whoever still runs in it at the end is ended."""
    folder = Path(tempfile.mkdtemp(prefix="muster-test-", dir="/tmp"))
    monkeypatch.setenv("MUSTER_RUNTIME_DIR", str(folder / "run"))
    monkeypatch.setenv("MUSTER_STATE_DIR", str(folder / "state"))
    for name in ("MUSTER_CLUSTER", "MUSTER_URL", "MUSTER_TOKEN", "MUSTER_NODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("JUPYTER_SERVER_URL", raising=False)
    yield folder
    for pid in processes_of(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: not processes_of(folder))
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def settings(places: Path) -> Callable[..., BridgeSettings]:
    """Settings of a fake bridge in the test's own folders; keywords become FAKE_* variables."""

    def make(start_timeout: float = 15.0, **fake: object) -> BridgeSettings:
        environ = {**os.environ, **{f"FAKE_{key.upper()}": str(fake[key]) for key in fake}}
        return BridgeSettings(
            program=[sys.executable, str(FAKE)], start_timeout=start_timeout, environ=environ
        )

    return make


def processes_of(folder: Path) -> list[int]:
    """Living bridges that serve in this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"serve" in words and str(folder / "run").encode() in words:
                pid = int(entry.name)
                if is_alive(pid):
                    found.append(pid)
    return found


def eventually(check: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until the check holds; the limit only ends a test that has failed."""
    until = time.monotonic() + seconds
    while not check():
        if time.monotonic() > until:
            raise AssertionError("did not come true in time")
        time.sleep(0.02)
