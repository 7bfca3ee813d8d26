"""What a program inside a job is told; the same cases as the TypeScript side reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from jupyterlab_muster import allocation, inside, time_left
from jupyterlab_muster.inside.deadline import time_left_from
from jupyterlab_muster.inside.hostlist import Inconsistent, expand_host_list
from jupyterlab_muster.inside.model import Answer, Here, Incomplete, InconsistentAllocation
from jupyterlab_muster.inside.read import detect, read_allocation

FIXTURES = Path(__file__).parents[2] / "src" / "backends" / "allocation" / "fixtures"


def load(name: str) -> list[dict[str, Any]]:
    found = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    assert isinstance(found, list)
    return found


def answers_of(case: dict[str, Any]) -> dict[str, Answer]:
    return {argv: Answer(**answer) for argv, answer in case.get("answers", {}).items()}


def matches(found: Any, expected: Any) -> bool:
    """Whether everything that is expected is there."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            key in found and matches(found[key], one) for key, one in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(matches(one, other) for one, other in zip(found, expected, strict=True))
        )
    return bool(found == expected)


def answer_of(case: dict[str, Any]) -> dict[str, Any]:
    """In the shape of the TypeScript side."""
    try:
        here = Here(**case["here"]) if "here" in case else None
        found = read_allocation(case["env"], case.get("files", {}).get, answers_of(case), here)
    except InconsistentAllocation as error:
        return {"state": "inconsistent", "kind": error.kind, "id": error.job, "why": error.why}
    if found is None:
        return {"state": "none"}
    if isinstance(found, Incomplete):
        asks = [list(argv) for argv in found.asks]
        state = {"state": "incomplete", "kind": found.kind, "id": found.id}
        return {**state, "why": found.why, "asks": asks}
    return {"state": "allocation", "allocation": found.as_dict()}


@pytest.mark.parametrize("case", load("environments"), ids=lambda case: case["name"])
def test_an_allocation_seen_from_inside(case: dict[str, Any]) -> None:
    answer = answer_of(case)
    assert matches(answer, case["expect"]), answer
    assert detect(case["env"]) == case["detect"]
    if answer["state"] == "allocation":
        found = answer["allocation"]
        assert [node for group in found["groups"] for node in group["nodes"]] == found["nodes"]
        assert found["source"]


@pytest.mark.parametrize("case", load("hostlists"), ids=lambda case: case["text"])
def test_a_host_list_expands_or_is_refused(case: dict[str, Any]) -> None:
    if case["hosts"] is None:
        with pytest.raises(Inconsistent):
            expand_host_list(case["text"], case["dialect"])
    else:
        assert expand_host_list(case["text"], case["dialect"]) == case["hosts"]


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """PBS prints the start of a job in the time zone of its host; the recorded one ran on UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("utc")
@pytest.mark.parametrize("case", load("time-left"), ids=lambda case: case["name"])
def test_time_left(case: dict[str, Any]) -> None:
    now = datetime.fromisoformat(case["now"].replace("Z", "+00:00")).timestamp()
    left = time_left_from(case["env"], case.get("files", {}).get, answers_of(case), now)
    found = {
        "seconds": left.seconds,
        "certainty": left.certainty,
        "inGrace": left.in_grace,
    }
    assert found == case["expect"], left
    assert left.as_of == now


def test_mangled_text_never_raises_anything_but_the_reason() -> None:
    for case in load("environments"):
        for name, text in case["env"].items():
            for mangled in ("", text[:-1], text + "]", "0", "(", text.replace("1", "x")):
                answer_of({**case, "env": {**case["env"], name: mangled}})


def test_both_names_come_from_the_package_whatever_was_imported_before() -> None:
    program = (
        "import jupyterlab_muster.inside\n"
        "from jupyterlab_muster import allocation, time_left\n"
        "import sys\n"
        "assert callable(allocation) and callable(time_left)\n"
        "names = {name.split('.')[0] for name in sys.modules}\n"
        "ours = {'dask', 'distributed', 'tornado', 'jupyter_server', 'traitlets'}\n"
        "assert not names & ours, names & ours\n"
        "print(allocation(), time_left().seconds)\n"
    )
    env = {"PATH": os.environ.get("PATH", "")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=env,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "None unknown\n"


def test_files_are_read_from_this_host(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes"
    nodes.write_text("n1\nn1\nn2\n", encoding="utf-8")
    env = {"OAR_JOB_ID": "5", "OAR_NODEFILE": str(nodes)}
    found = allocation(env)
    assert found is not None
    assert [(node.host, node.cpus) for node in found.nodes] == [("n1", 2), ("n2", 1)]
    with pytest.raises(inside.IncompleteAllocation, match="cannot be read"):
        allocation({**env, "OAR_NODEFILE": str(tmp_path)})


def test_commands_are_asked_and_may_be_missing(tmp_path: Path) -> None:
    squeue = tmp_path / "squeue"
    squeue.write_text("#!/bin/sh\necho 'RUNNING|1:30'\n", encoding="utf-8")
    squeue.chmod(0o755)
    asked: list[list[str]] = []

    def run(argv: list[str]) -> Answer:
        asked.append(argv)
        return Answer(0, "RUNNING|1:30\n", "")

    left = time_left({"SLURM_JOB_ID": "7"}, run=run)
    assert (left.seconds, asked) == (90, [["squeue", "-h", "-j", "7", "-o", "%T|%L"]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        assert time_left({"SLURM_JOB_ID": "7"}).seconds == 90
        patch.setenv("PATH", "/nowhere")
        assert time_left({"SLURM_JOB_ID": "7"}).seconds == "unknown"
    with pytest.raises(inside.IncompleteAllocation, match="Flux"):
        allocation({"FLUX_JOB_ID": "ƒ2aaaPuHq"}, run=lambda _argv: Answer(None, "", "no flux"))


def test_text_that_contradicts_itself_says_how() -> None:
    env = {
        "SLURM_JOB_ID": "4",
        "SLURM_JOB_NODELIST": "n[1-2]",
        "SLURM_JOB_CPUS_PER_NODE": "8(x3)",
    }
    with pytest.raises(inside.InconsistentAllocation, match="counts 3 nodes") as caught:
        allocation(env)
    assert (caught.value.kind, caught.value.job) == ("slurm", "4")


def test_an_outer_allocation_is_told_by_its_name() -> None:
    env = {"FLUX_JOB_ID": "ƒ2aaaPuHq", "SLURM_JOB_ID": "4", "SLURM_JOB_NODELIST": "n[1-2]"}
    assert inside.detect(env) == ["flux", "slurm"]
    found = allocation(env, kind="slurm")
    assert found is not None
    assert [node.host for node in found.nodes] == ["n1", "n2"]
    assert allocation(env, kind="pbs") is None
