"""What a whole comparison finds: each planted difference once, with its sign, and nothing else."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from popvision.analysis.compare.limits import LimitError, check_limits, parse_limits
from popvision.analysis.compare.metrics import METRICS, measure
from popvision.analysis.compare.report_diff import ReportDiff, compare_reports
from popvision.analysis.report.source import ReportSource
from popvision.formats.profile import ProfileWriter
from tests.analysis.compare.compare_case import opened
from tests.plain_report import PlainReport
from tests.planted import LOOKUP, SLOW_NAME, SLOW_PROGRAM, WORST_TILE, planted
from tests.reports import tiny_compilation, tiny_run, write_tiny


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> ReportSource:
    return opened(tmp_path_factory.mktemp("source"), planted())


def against(source: ReportSource, folder: Path, target: PlainReport) -> ReportDiff:
    return compare_reports(source, opened(folder, target))


def found(diff: ReportDiff) -> dict[str, list[tuple[object, ...]]]:
    """Everything that differs among rows, by kind: (what, name, difference)."""
    rows: dict[str, list[tuple[object, ...]]] = {}
    for changes in diff.changes:
        rows[changes.what] = [
            *(("changed", row.name_target, row.difference) for row in changes.changed.itertuples()),
            *(("renamed", row.name_source, row.name_target) for row in changes.renamed.itertuples()),
            *(("source", row.name_source, row.value_source) for row in changes.only_source.itertuples()),
            *(("target", row.name_target, row.value_target) for row in changes.only_target.itertuples()),
        ]
    return {what: each for what, each in rows.items() if each}


def figures(diff: ReportDiff) -> dict[str, float | None]:
    return {each.metric.name: each.difference for each in diff.figures if each.difference}


def test_a_report_against_itself_is_zero_everywhere(source: ReportSource, tmp_path: Path) -> None:
    for target in (source, opened(tmp_path, planted())):
        diff = compare_reports(source, target)
        assert found(diff) == {}
        assert figures(diff) == {}
        assert diff.settings_that_differ == []
        assert diff.notes == []
        assert diff.steps is not None
        assert (diff.steps.only_source, diff.steps.only_target) == (0, 0)
        assert [each.what for each in diff.changes] == [
            "programs",
            "variables",
            "tiles",
            "vertex types",
            "compute sets",
        ]


def test_one_tile_with_1024_bytes_more(source: ReportSource, tmp_path: Path) -> None:
    diff = against(source, tmp_path, planted().with_variable(2, bytes={WORST_TILE: 120_000 + 1_024}))
    assert found(diff) == {
        "variables": [("changed", LOOKUP, 1_024)],
        "tiles": [("changed", f"tile {WORST_TILE}", 1_024)],
    }
    assert figures(diff) == dict.fromkeys(
        ("peak", "peak_used", "memory", "memory_used", "live_peak", "always_live"), 1_024
    )
    back = compare_reports(diff.target, source)
    assert found(back)["tiles"] == [("changed", f"tile {WORST_TILE}", -1_024)]


def test_one_step_with_100_cycles_more(source: ReportSource, tmp_path: Path) -> None:
    cast = next(row for row, each in enumerate(planted().programs) if each.name == "cast")
    diff = against(source, tmp_path, planted().with_program(cast, cycles=160))
    assert found(diff) == {"programs": [("changed", "cast", 100)]}
    assert figures(diff)["cycles"] == 100
    assert figures(diff)["compute_cycles"] == 100
    assert "peak" not in figures(diff)


def test_a_rename_is_no_removal(source: ReportSource, tmp_path: Path) -> None:
    diff = against(source, tmp_path, planted().with_program(SLOW_PROGRAM - 1, name="layer1/other", line=0))
    rename = [("renamed", SLOW_NAME, "layer1/other")]
    assert found(diff) == {"programs": rename, "compute sets": rename}
    assert figures(diff) == {}


def test_a_removal_is_one_program_and_one_step(source: ReportSource, tmp_path: Path) -> None:
    diff = against(source, tmp_path, planted().with_program(SLOW_PROGRAM - 1, remove=True))
    rows = found(diff)
    assert rows["programs"][0][:2] == ("source", SLOW_NAME)
    # the sync behind it no longer waits for its slow tile: that is a change of the sync
    assert {row[1] for row in rows["programs"][1:]} <= {"Internal"}
    assert rows["compute sets"] == [("source", SLOW_NAME, 1_000)]
    assert diff.steps is not None
    assert (diff.steps.only_source, diff.steps.only_target) == (1, 0)
    assert figures(diff)["programs"] == -1


def test_what_a_report_lacks_is_unknown(tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny")
    values = measure(ReportSource(tmp_path / "tiny"))
    assert set(values) == {metric.name for metric in METRICS}
    assert values["cycles"] == 43
    assert values["device_time"] == pytest.approx(43e-6)
    assert values["peak"] == 120
    assert values["gaps"] == 432 + 4 - 432
    assert values["live_peak"] == 400 + 32
    assert values["exchange_bytes"] == 16
    assert values["balance"] == pytest.approx(70 / (4 * 40))
    assert values["compute_share"] == pytest.approx(70 / 172)
    assert values["code"] is None, "a model without code sizes does not have 0 bytes of code"
    diff = compare_reports(ReportSource(tmp_path / "tiny"), opened(tmp_path / "other", planted()))
    assert diff.notes == ["The machines differ: 4 and 8 tiles."]
    code = next(each for each in diff.figures if each.metric.name == "code")
    assert (code.source, code.target) == (0, 8 * 1_024), "its memory by category is recorded and holds no code"
    assert code.difference == 8 * 1_024
    assert code.relative == math.inf


def outcomes(diff: ReportDiff, text: str) -> list[bool]:
    return [each.broken for each in check_limits(parse_limits(text), diff.figures)]


def test_limits(source: ReportSource, tmp_path: Path) -> None:
    cast = next(row for row, each in enumerate(planted().programs) if each.name == "cast")
    slower = planted().with_program(cast, cycles=160).with_variable(2, bytes={WORST_TILE: 120_000 + 1_024})
    diff = against(source, tmp_path, slower)
    cycles = next(each for each in diff.figures if each.metric.name == "cycles")
    assert cycles.relative == pytest.approx(100 / (cycles.source or 0))
    assert outcomes(diff, "cycles>+100, cycles>=+100, cycles>+99") == [False, True, True]
    assert outcomes(diff, "cycles>+3%,cycles>+1%,cycles<-1%") == [False, True, False]
    assert outcomes(diff, "peak>+1KiB,peak>=+1KiB,peak>+1kB,peak>+0.5KiB,peak>1GiB") == [False, True, True, True, False]
    assert outcomes(diff, "compute_share<0%,compute_share>1%,compute_share>+50pp,tiles_over>0") == [
        False,
        True,
        False,
        False,
    ]
    assert outcomes(diff, "device_time>+50ns,device_time>1us,runs<1") == [True, True, False]
    faster = compare_reports(diff.target, diff.source)
    assert outcomes(faster, "cycles>+0%,cycles<-1%,cycles<-100,cycles<=-100") == [False, True, False, True]


def test_a_limit_that_cannot_be_checked_is_broken(tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny")
    tiny = ReportSource(tmp_path / "tiny")
    (outcome,) = check_limits(parse_limits("code>+5%"), compare_reports(tiny, tiny).figures)
    assert outcome.broken
    assert outcome.problem == "not known in both"


def test_more_than_nothing_is_more_than_any_percentage(source: ReportSource, tmp_path: Path) -> None:
    bare = replace(planted(), programs=[replace(each, messages=()) for each in planted().programs])
    diff = compare_reports(opened(tmp_path, bare), source)
    assert outcomes(diff, "exchange_bytes>+1000%,exchange_bytes<+1000%") == [True, False]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("speed>+2%", "there is no metric 'speed'; the metrics are cycles, "),
        ("cycles", "the limit 'cycles' cannot be read"),
        ("cycles>2%", "has no sign"),
        ("cycles>+2KiB", "has the unit 'KiB'; units of cycles are %, none"),
        ("peak>+2parsec", "has the unit 'parsec'"),
        ("compute_share>5pp", "has the unit 'pp'"),
        ("cycles>+two", "cannot be read"),
        (" , ", "no limit was given"),
    ],
)
def test_unreadable_limits(text: str, sentence: str) -> None:
    with pytest.raises(LimitError, match=re.escape(sentence)):
        parse_limits(text)


def test_the_document_lists_every_metric() -> None:
    document = (Path(__file__).parents[3] / "docs" / "compare.md").read_text()
    for metric in METRICS:
        assert f"| `{metric.name}` | " in document, metric.name
        assert f"{metric.title}: {metric.formula} |" in document, metric.name


def test_costs_of_two_models_are_said(tmp_path: Path) -> None:
    for version in "23":
        with ProfileWriter(tmp_path / version) as writer:
            compilation = tiny_compilation()
            writer.write_compilation(replace(compilation, meta={**compilation.meta, "modelVersion": version}))
            writer.append_run(tiny_run())
    before, after = (ReportSource(tmp_path / version) for version in "23")
    assert compare_reports(before, before).notes == []
    sentence = "The costs are of two models, version 2 and 3: figures differ for that alone;"
    assert [note[: len(sentence)] for note in compare_reports(before, after).notes] == [sentence]
