"""docs/api.md names every public name of the API."""

import enum
import inspect
import re
from pathlib import Path

import simulator.poplar
from simulator.poplar import program

WORDS = set(re.findall(r"\w+", (Path(__file__).parents[2] / "docs/api.md").read_text()))


def test_every_public_name_is_in_the_document() -> None:
    for module in (simulator.poplar, program):
        assert [name for name in module.__all__ if name not in WORDS] == []


def test_every_method_of_poplars_classes_is_in_the_document() -> None:
    classes = {getattr(m, name) for m in (simulator.poplar, program) for name in m.__all__}
    missing = {  # of our own code: what dict and int bring is Python's
        f"{made.__name__}.{name}"
        for made in classes
        if inspect.isclass(made) and not issubclass(made, BaseException | enum.Enum)
        for base in made.__mro__
        if base.__module__.startswith("simulator.")
        for name in vars(base)
        if not name.startswith("_") and callable(getattr(made, name)) and name not in WORDS
    }
    assert missing == set()
