"""Kernelspecs to interpreters (specs/api.md, "environment")."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jupyterlab_muster.kernelspecs import interpreter, kernelspec_views

MAJOR_MINOR = "python{}.{}".format(*sys.version_info[:2])


@pytest.mark.parametrize("name", ["python", "python3", MAJOR_MINOR])
def test_a_bare_python_is_the_servers_own(name: str) -> None:
    assert interpreter([name, "-m", "ipykernel_launcher"]) == sys.executable


def test_an_absolute_interpreter_stays_as_it_is() -> None:
    """Also a link: a venv's python is a link, and resolved it would be another environment."""
    assert interpreter(["/opt/env/bin/python3.12", "-m", "x"]) == "/opt/env/bin/python3.12"


def test_another_bare_version_is_searched_on_the_kernels_path(tmp_path: Path) -> None:
    program = tmp_path / "python3.99"
    program.touch(mode=0o755)
    assert interpreter(["python3.99"], {"PATH": f"{tmp_path}:${{PATH}}"}) == str(program)
    assert interpreter(["python3.98"], {"PATH": str(tmp_path)}) is None


def test_env_in_front_is_seen_through() -> None:
    argv = ["/usr/bin/env", "A=b", "/opt/env/bin/python", "-m", "ipykernel"]
    assert interpreter(argv) == "/opt/env/bin/python"


def test_a_conda_runner_is_seen_through() -> None:
    argv = ["python", "-m", "nb_conda_kernels.runner", "/conda", "/conda/envs/a", "python", "-m"]
    assert interpreter(argv) == "/conda/envs/a/bin/python"


@pytest.mark.parametrize("argv", [[], ["/opt/start-kernel.sh"], ["srun", "python"], ["R"]])
def test_what_cannot_be_told_is_not_guessed(argv: list[str]) -> None:
    assert interpreter(argv) is None


def test_other_languages_are_listed_without_an_interpreter() -> None:
    views = kernelspec_views(
        {
            "ir": {"spec": {"argv": ["R"], "language": "R", "display_name": "R"}},
            "a": {"spec": {"argv": ["/e/bin/python"], "language": "python"}},
            "broken": {},
        }
    )
    assert views == [
        {"name": "a", "displayName": "a", "language": "python", "python": "/e/bin/python"},
        {"name": "broken", "displayName": "broken", "language": "", "python": None},
        {"name": "ir", "displayName": "R", "language": "R", "python": None},
    ]
