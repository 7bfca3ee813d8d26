"""``script/test`` cannot call a failure a success: what it counts, and when runners break."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOP = Path(__file__).resolve().parents[2]


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("suite", TOP / "script" / "suite.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "suite", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "REPORTS", tmp_path / "reports")
    return module


def step(suite: ModuleType, code: str, report: Path, limit: float = 30) -> object:
    command = [sys.executable, "-c", code]
    return suite.Step("a step", command, limit, report, suite.jest_count)


def jest(passed: int, failed: int, broken: int = 0) -> str:
    return (
        f'{{"numPassedTests": {passed}, "numFailedTests": {failed},'
        f' "numRuntimeErrorTestSuites": {broken}}}'
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (f"write({jest(3, 0)!r})", (3, 0)),
        (f"write({jest(3, 2)!r}); sys.exit(1)", (3, 2)),
        (f"write({jest(3, 0, broken=1)!r}); sys.exit(1)", (3, 1)),
        (f"write({jest(3, 0)!r}); sys.exit(1)", (3, 1)),
        (f"write({jest(0, 0)!r})", (0, 1)),
        ("sys.exit(0)", (0, 1)),
        ("write('{')", (0, 1)),
        ("write('{}')", (0, 1)),
        (f"write({jest(3, 0)!r}); os.kill(os.getpid(), 9)", (3, 1)),
    ],
)
def test_a_runner_that_breaks_counts_as_failed(
    suite: ModuleType, tmp_path: Path, code: str, expected: tuple[int, int]
) -> None:
    report = tmp_path / "report.json"
    head = f"import os, sys; write = lambda text: open({str(report)!r}, 'w').write(text); "
    counts = suite.run(step(suite, head + code, report))
    assert (counts.passed, counts.failed) == expected


def test_yesterdays_report_is_not_read(suite: ModuleType, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(jest(99, 0))
    assert suite.run(step(suite, "pass", report)).failed == 1


def test_a_runner_that_hangs_is_ended_with_what_it_started(
    suite: ModuleType, tmp_path: Path
) -> None:
    code = (
        "import subprocess, sys, time;"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)']);"
        "time.sleep(3600)"
    )
    counts = suite.run(step(suite, code, tmp_path / "report.json", limit=1))
    assert counts.failed == 1


def test_a_program_that_is_missing_is_one_failure(suite: ModuleType) -> None:
    assert suite.run(suite.Step("gone", ["/nowhere/program"], 5)).failed == 1
    assert suite.run(suite.Step("fine", ["true"], 5)).passed == 1
    prepared = suite.run(suite.Step("prepared", ["true"], 5, preparation=True))
    assert (prepared.passed, prepared.failed) == (0, 0)
    assert suite.run(suite.Step("prepared", ["false"], 5, preparation=True)).failed == 1


def test_all_parts_run_and_the_last_line_counts_them(
    suite: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    parts = {
        "first": lambda: [suite.Step("bad", ["false"], 5)],
        "second": lambda: [suite.Step("good", ["true"], 5)],
    }
    monkeypatch.setattr(suite, "PARTS", parts)
    assert suite.main([]) == 1
    assert capfd.readouterr().out.splitlines()[-1] == "1 passed, 1 failed"
    assert suite.main(["second"]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "1 passed, 0 failed"
    assert suite.main(["third"]) == 2
    assert capfd.readouterr().out.splitlines()[-1] == "0 passed, 1 failed"


def test_counts_of_pytest_and_playwright(suite: ModuleType, tmp_path: Path) -> None:
    xml = tmp_path / "junit.xml"
    xml.write_text(
        '<testsuites><testsuite tests="10" failures="2" errors="1" skipped="3"/></testsuites>'
    )
    found = suite.pytest_count(xml)
    assert (found.passed, found.failed) == (4, 3)
    report = tmp_path / "report.json"
    stats = '{"expected": 5, "unexpected": 1, "flaky": 1, "skipped": 2}'
    report.write_text(f'{{"stats": {stats}, "errors": [{{}}]}}')
    found = suite.playwright_count(report)
    assert (found.passed, found.failed) == (6, 2)


def test_the_callers_own_bridge_stays_outside(
    suite: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_STATE_DIR", "/mine")
    monkeypatch.setenv("MUSTER_CLUSTER", "mine")
    monkeypatch.setenv("MUSTER_CHROMIUM", "/opt/chromium")
    environ = suite.environment()
    assert "MUSTER_STATE_DIR" not in environ
    assert "MUSTER_CLUSTER" not in environ
    assert environ["MUSTER_CHROMIUM"] == "/opt/chromium"
