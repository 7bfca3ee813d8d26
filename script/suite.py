"""The parts of ``script/test``: runs each to its end, counts, and says so in the last line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as Xml
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
REPORTS = TOP / ".cache" / "reports"
JEST = ["node", "--experimental-vm-modules", "node_modules/jest/bin/jest.js"]
#: Variables of ours that a test run may be given; all others of the caller stay outside.
GIVEN = ("MUSTER_CHROMIUM", "MUSTER_TEST_", "MUSTER_DASK_")
#: Testbeds the integration tests need besides .venv.
TESTBEDS = ("dask", "mpi")


@dataclass
class Count:
    """What a step found."""

    passed: int = 0
    failed: int = 0


@dataclass
class Step:
    """One program of a part."""

    title: str
    command: Sequence[str]
    #: Seconds after which it is ended with its whole group.
    limit: float
    #: Where the runner writes its own count; without one the exit code is the one test.
    report: Path | None = None
    read: Callable[[Path], Count] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    #: A program that only prepares: it is no test, but counts as failed when it fails.
    preparation: bool = False


def jest_count(report: Path) -> Count:
    """Suites that did not even run count as a failure each."""
    found = json.loads(report.read_text())
    broken = found["numRuntimeErrorTestSuites"]
    return Count(found["numPassedTests"], found["numFailedTests"] + broken)


def pytest_count(report: Path) -> Count:
    """Skipped ones are neither."""
    counts = Count()
    for suite in Xml.parse(report).getroot().iter("testsuite"):
        bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped = int(suite.get("skipped", 0))
        counts.failed += bad
        counts.passed += max(0, int(suite.get("tests", 0)) - bad - skipped)
    return counts


def playwright_count(report: Path) -> Count:
    """A test that passed only at the second try has not failed, but the report names it."""
    found = json.loads(report.read_text())
    stats = found["stats"]
    errors = len(found.get("errors", []))
    return Count(stats["expected"] + stats.get("flaky", 0), stats["unexpected"] + errors)


def jest(title: str, config: str, limit: float) -> Step:
    report = REPORTS / f"{Path(config).stem}.json"
    command = [*JEST, "--config", config, "--json", f"--outputFile={report}"]
    return Step(title, command, limit, report, jest_count)


def lint() -> list[Step]:
    return [
        Step("eslint", ["npm", "run", "--silent", "eslint:check"], 900),
        Step("prettier", ["npm", "run", "--silent", "prettier:check"], 300),
        Step("stylelint", ["npm", "run", "--silent", "stylelint:check"], 300),
        Step("types of the sources", ["tsc", "-b"], 600),
        Step("types of the tests", ["tsc", "-p", "tsconfig.test.json", "--noEmit"], 600),
        Step(
            "types of the browser's tests",
            ["tsc", "-p", "tsconfig.test.frontend.json", "--noEmit"],
            600,
        ),
        Step("types of the UI tests", ["tsc", "-p", "ui-tests/tsconfig.json", "--noEmit"], 600),
    ]


def unit() -> list[Step]:
    tools = ["bash", "script/packages.sh", "unit"]
    return [
        Step("tools", tools, 600, preparation=True),
        jest("unit tests", "jest.config.mjs", 1500),
    ]


def python() -> list[Step]:
    report = REPORTS / "pytest.xml"
    tests = ["python", "-m", "pytest", "-q", f"--junitxml={report}"]
    return [
        Step("ruff", ["ruff", "check", "jupyterlab_muster", "script"], 120),
        Step("ruff format", ["ruff", "format", "--check", "jupyterlab_muster", "script"], 120),
        Step("mypy", ["mypy"], 300),
        Step("pytest", tests, 1500, report, pytest_count),
    ]


def integration() -> list[Step]:
    tools = ["bash", "script/packages.sh", "integration"]
    raised = [
        Step("tools", tools, 600, preparation=True),
        *(
            Step(f"testbed {name}", [f"testbeds/{name}/up"], 1200, preparation=True)
            for name in TESTBEDS
        ),
    ]
    return [*raised, jest("integration tests", "jest.integration.config.mjs", 1500)]


def ui() -> list[Step]:
    report = TOP / "ui-tests" / "test-results" / "report.json"
    command = ["playwright", "test", "-c", "ui-tests/playwright.config.ts"]
    return [
        Step("browser", ["bash", "script/packages.sh", "ui"], 900, preparation=True),
        Step("UI tests", command, 1500, report, playwright_count),
    ]


PARTS: dict[str, Callable[[], list[Step]]] = {
    "lint": lint,
    "unit": unit,
    "python": python,
    "integration": integration,
    "ui": ui,
}


def environment() -> dict[str, str]:
    """The caller's, without what would make a test speak to the caller's own bridge or server."""
    kept = {}
    for name, value in os.environ.items():
        ours = name.startswith("MUSTER_") and not name.startswith(GIVEN)
        if not ours and name not in ("JUPYTER_TOKEN", "JUPYTER_SERVER_URL"):
            kept[name] = value
    kept.setdefault("PYTHONUNBUFFERED", "1")
    return kept


def run(step: Step) -> Count:
    """The step's count; a runner that crashes, hangs or counts nothing is a failure."""
    print(f"\n=== {step.title} ===", flush=True)
    if step.report is not None:
        step.report.parent.mkdir(parents=True, exist_ok=True)
        step.report.unlink(missing_ok=True)
    code = execute(step)
    if step.report is None or step.read is None:
        if step.preparation:
            return Count(failed=int(code != 0))
        return Count(passed=int(code == 0), failed=int(code != 0))
    try:
        counts = step.read(step.report)
    except (OSError, ValueError, KeyError, Xml.ParseError) as error:
        print(f"{step.title}: no usable report ({error})", flush=True)
        return Count(failed=1)
    if counts.failed == 0 and (code != 0 or counts.passed == 0):
        print(f"{step.title}: exit code {code}, {counts.passed} passed: counted as failed")
        counts.failed = 1
    return counts


def execute(step: Step) -> int:
    """The exit code; 124 where the time was over, 127 where the program is missing."""
    begun = time.monotonic()
    try:
        process = subprocess.Popen(
            step.command,
            cwd=TOP,
            env={**environment(), **step.environment},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        print(f"{step.title}: {error}", flush=True)
        return 127
    try:
        code = process.wait(timeout=step.limit)
    except subprocess.TimeoutExpired:
        print(f"{step.title}: not done within {step.limit:.0f} s", flush=True)
        end_group(process)
        return 124
    except BaseException:
        end_group(process)
        raise
    print(f"--- {step.title}: exit code {code}, {time.monotonic() - begun:.0f} s", flush=True)
    return code


def end_group(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=10)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def main(parts: Sequence[str]) -> int:
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        print(f"unknown part {unknown[0]!r}; there are {', '.join(PARTS)}", file=sys.stderr)
        print("0 passed, 1 failed")
        return 2
    REPORTS.mkdir(parents=True, exist_ok=True)
    total = Count()
    table = []
    for part in parts or PARTS:
        for step in PARTS[part]():
            counts = run(step)
            total.passed += counts.passed
            total.failed += counts.failed
            table.append((step.title, counts))
    print()
    for title, counts in table:
        print(f"  {title:24} {counts.passed:6} passed {counts.failed:6} failed")
    print(f"{total.passed} passed, {total.failed} failed", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
