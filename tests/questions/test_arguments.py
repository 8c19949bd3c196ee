"""Wrong arguments of every question: one sentence that names the parameter, the value and what is taken."""

from __future__ import annotations

from typing import Any

import pytest

import popvision
from popvision.formats.errors import FormatError
from popvision.opened.report import OpenedReport
from popvision.questions import QUESTIONS, NoSuchError
from popvision.questions.parameters import Parameter
from tests.questions.test_every_way import ARGUMENTS
from tests.samples import SAMPLES

WRONG: dict[str, list[Any]] = {
    "integer": ["a", 1.5, True, [1], object],
    "text": [1, None, b"name", ["name"]],
    "numbers": ["12", 3, {1: 2}],
    "report": ["folder", 1, None],
}


@pytest.fixture(scope="module")
def report() -> OpenedReport:
    return OpenedReport(SAMPLES / "matmul_chain")


def refused(report: OpenedReport, question: str, **arguments: Any) -> str:
    with pytest.raises(NoSuchError) as problem:
        getattr(report, question)(**arguments)
    text = str(problem.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text


def others(question: str, parameter: Parameter) -> dict[str, Any]:
    """Good arguments for the required parameters but this one."""
    needed = {"file": "x", "chosen": [0], "other": OpenedReport(SAMPLES / "matmul_chain")}
    required = [other.name for other in QUESTIONS[question].parameters if other.is_required]
    return {name: needed.get(name, 0) for name in required if name != parameter.name}


def test_values_of_another_type(report: OpenedReport) -> None:
    for name, question in QUESTIONS.items():
        for parameter in question.parameters:
            for value in WRONG[parameter.kind]:
                if value is None and parameter.optional:
                    continue
                said = refused(report, name, **others(name, parameter), **{parameter.name: value})
                assert f"{parameter.name} must be" in said, (name, parameter.name, value, said)


def test_numbers_out_of_bounds(report: OpenedReport) -> None:
    for name, question in QUESTIONS.items():
        for parameter in question.parameters:
            if parameter.kind != "integer" or (parameter.numbered is None and parameter.low is None):
                continue
            for value in (-1, *([10**9] if parameter.numbered is not None else [])):
                said = refused(report, name, **others(name, parameter), **{parameter.name: value})
                assert "does not exist: this report has" in said or "must be at least" in said, said


def test_choices_and_names_of_parameters(report: OpenedReport) -> None:
    assert refused(report, "memory", by="colour") == (
        "matmul_chain: by must be one of region, category, liveness, not 'colour'."
    )
    assert "it takes replica" in refused(report, "tiles", colour=1)
    assert "it takes no arguments" in refused(report, "variables", tile=1)
    assert "it takes tile" in refused(report, "tile_variables")
    assert refused(report, "program_tiles", program=999_999).startswith("matmul_chain: program 999999 does not exist")


def test_what_open_takes() -> None:
    for value in ([SAMPLES / "matmul_chain", "b"], None, 3):
        with pytest.raises(FormatError, match="takes one path, not"):
            popvision.open(value)  # type: ignore[arg-type]


def test_arguments_of_the_other_tests_are_of_questions() -> None:
    for name, arguments in ARGUMENTS.items():
        assert set(arguments) <= {parameter.name for parameter in QUESTIONS[name].parameters}
