"""Where socket and records are, and whose they must be (§9 "Places"; S14, S15)."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyterlab_muster.config import config_folders
from jupyterlab_muster.errors import BridgeUnavailable
from jupyterlab_muster.folders import ensure_private, runtime_folder, state_root
from jupyterlab_muster.record import BridgeAbsent, read_record


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a path short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="muster-short-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_the_session_folder_is_taken_only_when_it_is_ours_alone(short: Path) -> None:
    short.chmod(0o700)
    assert runtime_folder(None, {"XDG_RUNTIME_DIR": str(short)}) == short / "muster"
    short.chmod(0o755)
    elsewhere = runtime_folder(None, {"XDG_RUNTIME_DIR": str(short)})
    assert elsewhere == Path(tempfile.gettempdir()) / f"muster-{os.getuid()}"
    assert runtime_folder(None, {"XDG_RUNTIME_DIR": "/nowhere"}) == elsewhere
    assert runtime_folder(None, {}) == elsewhere


def test_the_setting_wins_over_the_variable_and_that_over_the_session(short: Path) -> None:
    environ = {"MUSTER_RUNTIME_DIR": "/b", "XDG_RUNTIME_DIR": str(short)}
    assert runtime_folder("/a", environ) == Path("/a")
    assert runtime_folder(None, environ) == Path("/b")


def test_a_deep_temporary_folder_gives_a_short_hashed_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    folder = runtime_folder(None, {})
    assert len(os.fsencode(folder / "bridge.sock")) <= 100
    assert folder == runtime_folder(None, {}), "the same one each time"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("y" * 100)))
    assert runtime_folder(None, {}) != folder


def test_a_chosen_folder_that_is_too_long_is_refused_with_the_reason() -> None:
    with pytest.raises(BridgeUnavailable, match="too long"):
        runtime_folder("/" + "x" * 100, {})
    runtime_folder("/" + "x" * (100 - len("/bridge.sock") - 1), {})


def test_state_is_under_the_users_state_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    assert state_root(None, {}) == Path("/home/u/.local/state/muster")
    assert state_root(None, {"XDG_STATE_HOME": "/s"}) == Path("/s/muster")
    assert state_root(None, {"XDG_STATE_HOME": "relative"}) == Path("/home/u/.local/state/muster")
    assert state_root(None, {"MUSTER_STATE_DIR": "/m", "XDG_STATE_HOME": "/s"}) == Path("/m")
    assert state_root("/t", {"MUSTER_STATE_DIR": "/m"}) == Path("/t")


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o777])
def test_folders_are_0700_whatever_the_umask(short: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        folder = ensure_private(short / "run", "MUSTER_RUNTIME_DIR")
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_others_may_enter_is_refused_with_the_fix(short: Path) -> None:
    folder = short / "run"
    for mode in (0o701, 0o710, 0o750, 0o755, 0o777):
        folder.mkdir(exist_ok=True)
        folder.chmod(mode)
        with pytest.raises(BridgeUnavailable) as caught:
            ensure_private(folder, "MUSTER_RUNTIME_DIR")
        assert caught.value.hint == f"chmod 700 '{folder}'"


def test_a_link_or_a_file_in_its_place_is_refused(short: Path) -> None:
    (short / "real").mkdir(mode=0o700)
    (short / "link").symlink_to(short / "real")
    (short / "file").touch()
    (short / "dangling").symlink_to(short / "gone")
    for name in ("link", "file", "dangling"):
        with pytest.raises(BridgeUnavailable, match="refused"):
            ensure_private(short / name, "MUSTER_RUNTIME_DIR")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(short: Path) -> None:
    folder = short / "run"
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, 65534)
    with pytest.raises(BridgeUnavailable, match="belongs to uid 65534"):
        ensure_private(folder, "MUSTER_RUNTIME_DIR")


def test_a_folder_that_cannot_be_made_names_the_setting(short: Path) -> None:
    (short / "file").touch()
    with pytest.raises(BridgeUnavailable) as caught:
        ensure_private(short / "file" / "run", "MUSTER_STATE_DIR")
    assert "MUSTER_STATE_DIR" in str(caught.value.hint)


def test_a_record_others_may_read_is_refused(short: Path) -> None:
    path = short / "bridge.json"
    path.write_text(json.dumps({"pid": 1, "secret": "s"}))
    for mode in (0o644, 0o640, 0o604):
        path.chmod(mode)
        with pytest.raises(BridgeUnavailable, match="Others may read"):
            read_record(short)
    path.chmod(0o600)
    assert read_record(short).secret == "s"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pid": "x", "secret": "s"}', "null"])
def test_a_damaged_record_is_no_bridge(short: Path, text: str) -> None:
    path = short / "bridge.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(BridgeAbsent):
        read_record(short)


def test_a_link_in_the_records_place_is_not_followed(short: Path) -> None:
    (short / "other").write_text(json.dumps({"pid": 1, "secret": "s"}))
    (short / "bridge.json").symlink_to(short / "other")
    with pytest.raises(BridgeAbsent):
        read_record(short)


def test_configuration_folders_are_the_users_first_and_the_packages_last(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "user"))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", f"{tmp_path / 'site'}{os.pathsep}{tmp_path}/a,b")
    folders = config_folders()
    assert folders[0] == str(tmp_path / "user")
    assert folders.index(f"{sys.prefix}/etc/jupyter") < folders.index("/etc/jupyter")
    assert str(tmp_path / "site") in folders
    assert folders[-1].endswith("/jupyterlab_muster")
    assert not any("," in folder for folder in folders)
    assert all(Path(folder).is_absolute() for folder in folders)
