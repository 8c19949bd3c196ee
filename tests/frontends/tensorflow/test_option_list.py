"""The lists of options in docs/tensorflow.md are those of the tables."""

from pathlib import Path

from simulator.frontends.tensorflow.documents.options import OPTIONS, rewritten

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "tensorflow.md").read_text()


def test_the_lists_are_written_from_the_tables() -> None:
    assert PAGE.count(OPTIONS + "\n") == 1
    assert rewritten(PAGE) == PAGE, "python -m simulator.frontends.tensorflow.documents.options docs/tensorflow.md"
