"""What docs/options.md says of every option on every target, held against runs of a tiny program under two values."""

import pytest

from simulator.base.options.option import CATEGORIES, everywhere
from simulator.base.options.table import ENGINE_TABLE
from simulator.base.target import TargetType
from simulator.runtime.recording import report_folder
from tests.engine.option_cases import CASES
from tests.engine.option_probe import differences, observe

#: Options whose effect the tiny program cannot show, or not each time: its own test does.
SHOWN_ELSEWHERE = ("target.deterministicWorkers",)

KEPT = {"debug.retainDebugInformation": "true"}


def test_every_option_has_a_statement_for_every_target(subtests: pytest.Subtests) -> None:
    for option in ENGINE_TABLE.values():
        with subtests.test(option.name):
            for target in TargetType:
                words = option.effects.on(target)
                assert words <= set(CATEGORIES) or words == {"raises"}
                statement = option.effects.statement(target)
                assert statement in ("does not apply here", "raises") or statement.startswith("changes ")
            applies = any(option.effects.on(target) for target in TargetType)
            assert applies == option.effective, "an option that applies nowhere is one without an effect yet"
            assert applies or option.source == "seen", "every documented option applies to some target"


@pytest.mark.parametrize(
    ("target", "code"),
    [
        pytest.param(TargetType.IPU_MODEL, False, id="model"),
        pytest.param(TargetType.IPU_MODEL, True, id="model with compileIPUCode"),
        pytest.param(TargetType.CPU, False, id="cpu"),
        pytest.param(TargetType.IPU, False, id="hardware"),
    ],
)
@pytest.mark.parametrize("name", CASES)
def test_the_statement_is_true(name, target, code, tmp_path, monkeypatch):
    """Exactly the stated categories differ; host threads and memory are for the option's own test."""
    monkeypatch.setattr(report_folder, "_directories", {})
    case, *values, given = CASES[name]
    shared = given if name in KEPT else KEPT | given
    runs = [observe(case, target, shared | {name: value}, tmp_path / str(i), code) for i, value in enumerate(values)]
    stated = set(ENGINE_TABLE[name].effects.on(target))
    if "code" in stated:
        stated = stated - {"code"} | ({"bytes"} if code else set())
    if "raises" in stated:
        assert [("compile", "invalid_option")] in [run["errors"] for run in runs]
        return
    differ = differences(*runs)
    if name in SHOWN_ELSEWHERE:
        assert differ <= stated
    else:
        assert differ - {"host"} == stated - {"host"}


def test_every_option_with_an_effect_has_its_case():
    assert set(CASES) == {option.name for option in ENGINE_TABLE.values() if option.effective}


def test_the_same_value_twice_differs_in_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(report_folder, "_directories", {})
    case = CASES["autoReport.all"][0]
    for target in TargetType:
        one, two = (observe(case, target, KEPT, tmp_path / target.value / str(i)) for i in range(2))
        assert differences(one, two) == set()
        assert differences(one, two | {"cycles": -1, "text": "more"}) == {"cycles", "text"}


def test_statements_read_as_sentences():
    assert everywhere("bytes cycles").statement(TargetType.CPU) == "changes cycles, bytes"
    assert everywhere("").statement(TargetType.IPU) == "does not apply here"
    assert everywhere("raises").statement(TargetType.IPU_MODEL) == "raises"
