"""The list of operators in docs/tensorflow.md is that of the tables."""

from pathlib import Path

from simulator.frontends.lowering.rules import TABLE
from simulator.frontends.tensorflow.documents.operators import OPERATORS, rewritten

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "tensorflow.md").read_text()


def test_the_list_is_written_from_the_tables() -> None:
    assert PAGE.count(OPERATORS) == 1
    assert rewritten(PAGE) == PAGE, "python -m simulator.frontends.tensorflow.documents.operators docs/tensorflow.md"


def test_every_rule_of_tensorflows_own_has_a_call() -> None:
    own = [one for one in TABLE if one.name.startswith(("tf.", "control."))]
    assert len(own) > 40
    assert all(one.call and one.kind for one in own)
