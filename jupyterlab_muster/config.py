"""The folders that may hold a ``muster.yaml``."""

from __future__ import annotations

from pathlib import Path

CONFIG_NAME = "muster.yaml"


def config_folders() -> list[str]:
    """Strongest first: the user's, then Jupyter's others (environment, site), then the package.

    In a venv Jupyter itself puts the environment before the user; limits and profiles of ours are
    the user's over the site's wherever Jupyter was installed (specs/api.md §5).

    Folders are named whether or not there is a file in them: the bridge reads it when it appears.
    A path with a comma cannot be handed over and is left out.
    """
    from jupyter_core.paths import jupyter_config_dir, jupyter_config_path

    folders = [jupyter_config_dir(), *jupyter_config_path(), str(Path(__file__).parent)]
    absolute = [str(Path(folder).absolute()) for folder in folders]
    return [folder for folder in dict.fromkeys(absolute) if "," not in folder]
