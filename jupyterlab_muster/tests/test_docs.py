"""The documents are true of what is there: links, commands, options, examples, named files."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from jupyterlab_muster.bridge import bundle
from jupyterlab_muster.errors import MusterError
from jupyterlab_muster.node import find_node

TOP = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*TOP.glob("*.md"), *(TOP / "docs").glob("**/*.md")])
COMMANDS = TOP / "docs" / "command.md"
#: Folders of the repository: a name in code style that begins so is a file, and must be there.
ROOMS = "src|jupyterlab_muster|docs|script|bench|ui-tests|testbeds|schema|style|.ci"
#: Named by the documents, made by a build or a test run.
MADE = {"ui-tests/screenshots", "bench/results"}

pytestmark = pytest.mark.skipif(
    not (TOP / "CONTRIBUTING.md").is_file(), reason="the documents are in the repository only"
)


def ids(path: Path) -> str:
    return str(path.relative_to(TOP))


# ---------------------------------------------------------------------------------------------
# Reading Markdown


def blocks(document: Path) -> Iterator[tuple[str, str]]:
    """(language, text) of each fenced block."""
    for match in re.finditer(
        r"^```(\S*)[^\n]*\n(.*?)^```$", document.read_text(), re.DOTALL | re.MULTILINE
    ):
        yield match[1], match[2]


def prose(document: Path) -> str:
    """The text without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)


def inline_code(document: Path) -> list[str]:
    return re.findall(r"`([^`\n]+)`", prose(document))


def links(document: Path) -> list[str]:
    found = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(document)))
    return [link for link in found if urlsplit(link).scheme == ""]


def anchors(document: Path) -> set[str]:
    """As GitHub makes them of headings."""
    found = set()
    for heading in re.findall(r"^#+ +(.+)$", prose(document), re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", heading.lower())
        found.add(words.replace(" ", "-"))
    return found


def command_lines(document: Path) -> list[list[str]]:
    """Arguments of each ``muster`` that is shown: in blocks after a prompt, and in code style."""
    lines = [
        line.removeprefix("$ ").split("  #")[0]
        for language, text in blocks(document)
        if language in ("console", "bash")
        for line in text.splitlines()
        if re.match(r"(\$ )?muster ", line)
    ]
    lines += [code for code in inline_code(document) if code.startswith("muster ")]
    found = []
    for line in lines:
        try:
            found.append(shlex.split(line)[1:])
        except ValueError as error:
            raise AssertionError(f"{ids(document)}: {line!r}: {error}") from error
    return found


# ---------------------------------------------------------------------------------------------
# Links and files


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    broken = []
    for link in links(document):
        parts = urlsplit(link)
        target = (document.parent / unquote(parts.path)).resolve() if parts.path else document
        there = target.exists() and target.is_relative_to(TOP)
        if not there or (parts.fragment and parts.fragment not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_every_file_it_names_is_there(document: Path) -> None:
    named = [
        re.split(r"[ <…*]", code)[0].rstrip("/")
        for code in inline_code(document)
        if re.match(rf"({ROOMS})/", code)
    ]
    missing = [name for name in named if name not in MADE and not (TOP / name).exists()]
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_every_script_it_names_can_be_run(document: Path) -> None:
    text = document.read_text()
    named = set(re.findall(r"(?<![\w/.])(?:script|testbeds/\w+)/[a-z]+(?![\w/.*<-])", text))
    refused = [name for name in sorted(named) if not os.access(TOP / name, os.X_OK)]
    assert refused == []


def test_the_readme_names_the_two_commands() -> None:
    commands = [text for language, text in blocks(TOP / "README.md") if language == "bash"]
    assert re.findall(r"^script/\w+", commands[0], re.MULTILINE) == ["script/lab", "script/test"]


def test_what_the_documents_call_runnable_with_npm_is() -> None:
    scripts = json.loads((TOP / "package.json").read_text())["scripts"]
    named = {
        name
        for document in DOCUMENTS
        for name in re.findall(r"npm run ([\w:]+)", document.read_text())
    }
    assert named
    assert named - scripts.keys() == set()


# ---------------------------------------------------------------------------------------------
# The command


def muster(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jupyterlab_muster.cli", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@lru_cache
def help_of(*command: str) -> str:
    done = muster(*command, "--help")
    assert done.returncode == 0, done.stderr
    return done.stdout


@lru_cache
def commands() -> frozenset[str]:
    """Of ``muster --help``, with other names they have."""
    listed = help_of().partition("\nCommands:\n")[2]
    names = re.findall(r"^  ([a-z-]+(?:\|[a-z-]+)*)(?: |$)", listed, re.MULTILINE)
    return frozenset(name for entry in names for name in entry.split("|"))


def options(text: str) -> set[str]:
    found = re.findall(r"^ {2}(?:(-\w), )?(--[\w-]+)?", text, re.MULTILINE)
    return {option for pair in found for option in pair if option}


@pytest.fixture
def built(places: Path) -> Path:
    """The built bridge, in folders of the test's own."""
    try:
        bundle()
    except MusterError:
        pytest.fail("the bridge is not built: script/setup builds it")
    return places


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_every_command_and_option_it_shows_exists(document: Path, built: Path) -> None:
    unknown = []
    everywhere = options(help_of())
    for arguments in command_lines(document):
        words = iter(arguments)
        name = next((word for word in words if word in commands()), None)
        if name is None:
            # `muster --help`, or no command at all.
            unknown += [" ".join(arguments)] if set(arguments) - everywhere else []
            continue
        known = everywhere | options(help_of(name))
        said = [word.split("=")[0] for word in arguments if re.match(r"--?[A-Za-z]", word)]
        unknown += [f"{name} {word}" for word in said if word not in known]
    assert unknown == []


def test_every_command_has_its_place_in_the_document(built: Path) -> None:
    headings = set(re.findall(r"^### ([\w-]+)$", COMMANDS.read_text(), re.MULTILINE))
    assert headings - commands() == set()
    # `ls` is another name of `list`.
    assert commands() - headings == {"ls"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--help"], 0), (["stop", "--no-such"], 2), (["--no-start", "list"], 3)],
)
def test_exit_codes_are_as_the_document_says(built: Path, arguments: list[str], code: int) -> None:
    assert muster(*arguments).returncode == code
    assert re.search(rf"^\| {code} +\|", COMMANDS.read_text(), re.MULTILINE)


# ---------------------------------------------------------------------------------------------
# Examples


def yaml_examples() -> list[tuple[str, str, str]]:
    """(where, what, text): an example says in its first line what it is."""
    found = []
    for document in DOCUMENTS:
        if "batch-systems" in document.parts:
            continue  # descriptions of batch systems, read by the tests of src/backends/batch
        for language, text in blocks(document):
            if language in ("yaml", "yml"):
                first = text.splitlines()[0].removeprefix("#").strip()
                found.append((ids(document), first, text))
    return found


def test_every_yaml_example_says_what_it_is() -> None:
    assert {what for _, what, _ in yaml_examples()} == {"muster.yaml", "cluster.yaml"}


def configuration_findings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(folder))
    # The first line: a failed check is said once more below it.
    answer = json.loads(muster("--json", "doctor").stdout.splitlines()[0])
    return [
        finding
        for finding in answer["items"]
        if finding["check"] == "configuration" and str(folder) in finding["message"]
    ]


@pytest.mark.parametrize(
    "text", [text for _, what, text in yaml_examples() if what == "muster.yaml"]
)
def test_the_bridge_reads_every_example_of_muster_yaml(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    file = tmp_path / "muster.yaml"
    file.write_text(text)
    file.chmod(0o600)
    found = configuration_findings(tmp_path, monkeypatch)
    assert [(finding["status"], finding["message"]) for finding in found] == [("ok", str(file))]
    # And it would have said what is wrong.
    file.write_text(f"{text}\nunheardOf: 1\n")
    found = configuration_findings(tmp_path, monkeypatch)
    assert [finding["status"] for finding in found] == ["failed"]
    assert "unheardOf" in found[0]["message"]


def compiled(program: str, text: str = "") -> object:
    """What a program with the compiled sources prints as JSON."""
    done = subprocess.run(
        [find_node().path, "--input-type=module", "-e", program],
        cwd=TOP,
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


CHECK_SPEC = """
import { parse } from 'yaml';
import { clusterSpecSchema } from './lib/protocol/index.js';
let text = '';
for await (const part of process.stdin) text += part;
const result = clusterSpecSchema.safeParse(parse(text));
console.log(JSON.stringify(result.success ? [] : result.error.issues));
"""

LIST_ROUTES = """
import { documentPath } from './lib/bridge/api/openapi.js';
import { ROUTES } from './lib/bridge/api/routes.js';
console.log(JSON.stringify(ROUTES.map(one => `${one.method} ${documentPath(one.path)}`)));
"""


@pytest.mark.parametrize(
    "text", [text for _, what, text in yaml_examples() if what == "cluster.yaml"]
)
def test_every_example_of_a_cluster_is_one(text: str) -> None:
    assert compiled(CHECK_SPEC, text) == []
    # And it would have said what is wrong.
    assert compiled(CHECK_SPEC, f"{text}\nunheardOf: 1\n") != []


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_examples_of_python_and_json_can_be_read(document: Path) -> None:
    for language, text in blocks(document):
        if language == "python":
            compile(text, ids(document), "exec")
        elif language == "json":
            json.loads(text)


def test_the_routes_the_document_names_are_served() -> None:
    served = compiled(LIST_ROUTES)
    assert isinstance(served, list)
    named = [code for code in inline_code(TOP / "docs" / "api.md") if re.match("[A-Z]+ /", code)]
    assert named
    assert set(named) - set(served) == set()
