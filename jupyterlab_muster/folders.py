"""The folders of the bridge (specs/api.md §5): 0700, ours, and no symbolic links."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from .errors import BridgeUnavailable

#: Bytes. Linux allows 107, macOS 103; Node cuts a longer path without a word (§9 "Places").
LONGEST_SOCKET_PATH = 100
SOCKET_NAME = "bridge.sock"
RECORD_NAME = "bridge.json"
LOG_NAME = "bridge.log"


def runtime_folder(configured: str | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """The setting, else MUSTER_RUNTIME_DIR, else the session's or a temporary folder.

    Only where the socket is or will be: nothing is made or checked.

    :raises BridgeUnavailable: the chosen folder's path is too long for a socket.
    """
    environ = os.environ if environ is None else environ
    chosen = configured or environ.get("MUSTER_RUNTIME_DIR")
    if chosen:
        folder = _absolute(chosen)
        if not _fits(folder):
            raise BridgeUnavailable(
                f"The path of the runtime folder is too long for a socket: {folder}",
                fix="set MUSTER_RUNTIME_DIR (or Muster.socket_dir) to a short path on a local disk",
            )
        return folder
    session = environ.get("XDG_RUNTIME_DIR")
    if session and _is_private(Path(session)) and _fits(Path(session) / "muster"):
        return Path(session) / "muster"
    return _temporary_folder(Path(tempfile.gettempdir()))


def _temporary_folder(temporary: Path) -> Path:
    """``<temporary>/muster-<uid>``; a short hashed name where TMPDIR is deep (HPC sites)."""
    folder = temporary / f"muster-{os.getuid()}"
    if _fits(folder):
        return folder
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    return Path("/tmp") / f"muster-{os.getuid()}-{digest}"  # noqa: S108 - checked before use


def state_root(configured: str | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """The folder that holds one state folder per host: the setting, MUSTER_STATE_DIR, or XDG's."""
    environ = os.environ if environ is None else environ
    chosen = configured or environ.get("MUSTER_STATE_DIR")
    if chosen:
        return _absolute(chosen)
    base = environ.get("XDG_STATE_HOME", "")
    # The XDG specification: relative paths are invalid and to be ignored.
    folder = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state"
    return folder / "muster"


def ensure_private(folder: Path, setting: str) -> Path:
    """Make the folder; what is already there must be a folder of ours, closed to others.

    Another user may have made it first, or a link in its place (S14).

    :raises BridgeUnavailable: with the command that mends it.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.mkdir(mode=0o700)
            folder.chmod(0o700)  # whatever the umask
        except FileExistsError:
            pass
        found = folder.lstat()
    except OSError as error:
        raise BridgeUnavailable(
            f"The folder {folder} cannot be made: {error.strerror or error}",
            fix=f"set {setting} to a folder you may write to",
        ) from error
    problem, fix = _trouble(found, folder, setting)
    if problem:
        raise BridgeUnavailable(f"The folder {folder} is refused: {problem}.", fix=fix)
    return folder


def _trouble(found: os.stat_result, folder: Path, setting: str) -> tuple[str | None, str]:
    elsewhere = f"remove it, or set {setting} to another folder"
    if stat.S_ISLNK(found.st_mode):
        return "it is a symbolic link", elsewhere
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a folder", elsewhere
    if found.st_uid != os.geteuid():
        return f"it belongs to uid {found.st_uid}, not to you ({os.geteuid()})", elsewhere
    if stat.S_IMODE(found.st_mode) & 0o077:
        mode = f"{stat.S_IMODE(found.st_mode):04o}"
        return f"others may enter it (mode {mode})", f"chmod 700 '{folder}'"
    return None, ""


def _is_private(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.geteuid()
        and not stat.S_IMODE(found.st_mode) & 0o077
    )


def _fits(folder: Path) -> bool:
    return len(os.fsencode(folder / SOCKET_NAME)) <= LONGEST_SOCKET_PATH


def _absolute(path: str) -> Path:
    return Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111 - links stay
