"""`popvision diff`: its output, files and exit codes, as a CI job sees them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from popvision.cli import group
from popvision.export.diff_markdown import escaped
from tests.cli.called import popvision
from tests.planted import LOOKUP, WORST_TILE, planted
from tests.samples import SAMPLES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("diff")
    planted().write(made / "a")
    planted("fuller").with_variable(2, bytes={WORST_TILE: 120_000 + 1_024}).write(made / "b")
    planted("hostile").with_variable(2, name="<script>|`*_x\x07", bytes={WORST_TILE: 1_000}).write(made / "hostile")
    return made


def diff(folder: Path, *more: str, target: str = "b") -> Result:
    return CliRunner().invoke(group, ["diff", str(folder / "a"), str(folder / target), *more])


def process(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "popvision", "diff", str(folder / "a"), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_exit_codes(folder: Path) -> None:
    """One in its own process, as in a CI job; the others in this process."""
    broken = process(folder, str(folder / "b"), "--fail-on", "cycles>+2%,peak>+0.1%")
    assert (broken.returncode, broken.stderr) == (3, "")
    assert "BROKEN  peak>+0.1%" in broken.stdout
    held = popvision("diff", folder / "a", folder / "b", "--fail-on", "cycles>+2%,peak>+1%")
    assert (held.returncode, held.stderr) == (0, "")
    missing = popvision("diff", folder / "a", folder / "none", "--fail-on", "cycles>+2%")
    assert missing.returncode == 2
    assert missing.stdout == ""
    assert missing.stderr.count("\n") == 1
    assert str(folder / "none") in missing.stderr
    unknown = popvision("diff", folder / "a", folder / "b", "--fail-on", "speed>+2%")
    assert unknown.returncode == 2
    assert "there is no metric 'speed'; the metrics are cycles, cycles_per_run" in unknown.stderr


def test_text(folder: Path) -> None:
    printed = diff(folder).stdout
    assert LOOKUP in printed
    assert "+1.0 KiB" in printed
    assert "Changed programs" not in printed, "empty lists are left out"
    assert "No differences." in diff(folder, target="a").stdout
    assert "Total device cycles" not in printed
    assert "Total device cycles" in diff(folder, "--all").stdout


def test_json_says_the_same(folder: Path) -> None:
    document = json.loads(diff(folder, "--json", "--fail-on", "peak>+0.1%,cycles>+1").stdout)
    assert document["metrics"]["peak"]["difference"] == 1_024
    assert document["metrics"]["cycles"]["difference"] == 0
    variables = document["changes"]["variables"]
    assert variables["counts"] == {"changed": 1, "renamed": 0, "onlySource": 0, "onlyTarget": 0, "matched": 6}
    assert [(row["nameTarget"], row["difference"]) for row in variables["changed"]] == [(LOOKUP, 1_024)]
    assert [each["broken"] for each in document["limits"]] == [True, False]
    assert document["broken"] == 1
    assert document["changes"]["programs"]["changed"] == []


def test_a_row_that_one_report_lacks_is_0_there(folder: Path) -> None:
    document = json.loads(diff(folder, "--json", "--top", "0", target="hostile").stdout)
    assert document["formatVersion"] == "3.0"
    (lost,) = document["changes"]["variables"]["onlySource"]
    assert (lost["target"], lost["matched"], lost["inReport"]) == (None, "", "source")
    assert lost["valueTarget"] == 0
    assert lost["difference"] == -lost["valueSource"] < 0


def test_top_cuts_lists_but_not_counts(folder: Path) -> None:
    changes = json.loads(diff(folder, "--json", "--top", "1", target="hostile").stdout)["changes"]
    assert changes["variables"]["counts"]["onlySource"] == 1
    whole = json.loads(diff(folder, "--json", "--top", "0", target="hostile").stdout)["changes"]
    assert len(whole["tiles"]["changed"]) == whole["tiles"]["counts"]["changed"]


def test_junit_has_a_case_per_limit(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "cases.xml"
    result = diff(folder, "--junit", str(path), "--fail-on", "cycles>+2%,peak>+0.1%,not_always_live>+1B")
    assert result.exit_code == 3
    root = ElementTree.parse(path).getroot()
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "0")
    cases = root.findall("./testsuite/testcase")
    assert [case.get("name") for case in cases] == ["cycles>+2%", "peak>+0.1%", "not_always_live>+1B"]
    assert [case.find("failure") is not None for case in cases] == [False, True, False]
    failure = cases[1].find("failure")
    assert failure is not None
    assert "+1.0 KiB" in (failure.get("message") or "")
    assert list(tmp_path.iterdir()) == [path], "nothing but the whole file"


def test_markdown(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "diff.md"
    assert diff(folder, "--markdown", str(path), "--fail-on", "cycles>+2%").exit_code == 0
    document = path.read_text()
    assert "**All limits hold**" in document
    assert f"| {escaped(LOOKUP)} |" in document
    assert diff(folder, "--markdown", "-").stdout == document.replace(
        document[document.index("**All") : document.index("Execution steps")], ""
    )


def test_names_are_text_in_markdown(folder: Path) -> None:
    document = diff(folder, "--markdown", "-", target="hostile").stdout
    assert "<script>" not in document
    assert "&lt;script&gt;\\|\\`\\*\\_x\ufffd" in document


@pytest.mark.parametrize(
    "arguments", [("--json", "--markdown", "-"), ("--junit", "x.xml"), ("--top", "-1"), ("--fail-on", "")]
)
def test_wrong_usage(folder: Path, arguments: tuple[str, ...]) -> None:
    result = diff(folder, *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    result = diff(folder, "--markdown", str(folder / "no" / "where.md"))
    assert result.exit_code == 2
    assert "cannot write" in result.stderr


def test_what_changed_begins_each_output(folder: Path) -> None:
    printed = diff(folder).stdout
    assert printed.index("What changed: memory in use by category") < printed.index("Changed variables")
    assert "Nothing changed: " not in printed
    waterfalls = json.loads(diff(folder, "--json").stdout)["whatChanged"]
    assert waterfalls
    for each in waterfalls:
        assert sum(part["difference"] for part in each["parts"]) == each["total"]["difference"]
    markdown = diff(folder, "--markdown", "-").stdout
    assert "### What changed: memory in use by category" in markdown
    for more in ((), ("--markdown", "-")):
        assert "Nothing changed: " in diff(folder, *more, target="a").stdout


def test_each_output_names_the_programs_of_what_is_not_attributed() -> None:
    pair = [str(SAMPLES / name) for name in ("matmul_chain", "matmul_chain_hardware")]
    for form in ([], ["--json"], ["--markdown", "-"]):
        done = CliRunner().invoke(group, ["diff", *pair, *form])
        assert done.exit_code == 0, done.output
        text = " ".join(done.output.split())
        assert "mostly StreamCopyMid (host copy without a name)" in text
        assert "Sync holds the time in which tiles wait" in text


def test_the_html_file_begins_with_what_changed(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    arguments = ["--view", "summary", "--against", str(folder / "b"), "-o", str(page)]
    done = CliRunner().invoke(group, ["html", str(folder / "a"), *arguments])
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    assert "What changed: memory in use by category" in text
    assert "+1.0 KiB" in text
