"""Every public function and method with whole numbers that no system has, in the place of each of its sizes: a sentence
of a poplar_error comes out and the graph is as it was, or the call takes the number; nothing is cut, and no memory of
that size is asked for."""

import inspect

import pytest

from simulator.poplar import poplar_error
from tests.poplar.graph_state import state_of
from tests.poplar.test_wrong_arguments import CALLS, World, forms, right

SIZES = (-1, -(2**63), 2**40, 2**63, 2**64, 10**30)

#: annotation -> values of it that hold a size
OF_SIZE = {
    "int": lambda n: [n],
    "int | None": lambda n: [n],
    "float": lambda n: [n],
    "Shape": lambda n: [[n], [2, n], [n, n]],
    "Sequence[int]": lambda n: [[n], [0, n]],
    "Sequence[tuple[int, int]]": lambda n: [[(0, n)], [(n, n)]],
    "Sequence[Sequence[tuple[int, int]]]": lambda n: [[[(0, n)]]],
    "Mapping[int, int]": lambda n: [{0: n}, {n: 0}],
    "npt.ArrayLike": lambda n: [n, [n]],
    "Iterable[tuple[Type, int]]": lambda n: [],
}
VALUES = ("Graph.addConstant.values", "Graph.addConstant.val", "Graph.setInitialValue.val")


def attempts(name, w):
    """(what is wrong, arguments, named arguments) for each size of each overload."""
    for form in forms(name):
        parameters = [p for p in form.parameters.values() if p.name not in ("self", "cls")]
        for wrong in parameters:
            by_name = f"{name}.{wrong.name}" in VALUES
            make = OF_SIZE.get(str(wrong.annotation)) or (OF_SIZE["npt.ArrayLike"] if by_name else None)
            for n in SIZES if make else ():
                for value in make(n):
                    arguments, names = [], {}
                    for p in parameters:
                        given = value if p is wrong else right(name, p)[0](w)
                        if p.kind is inspect.Parameter.KEYWORD_ONLY:
                            names[p.name] = given
                        elif p.kind is not inspect.Parameter.VAR_KEYWORD:
                            arguments.append(given)
                    yield f"{name}{form}: {wrong.name} = {value}", arguments, names


NAMES = [name for name in CALLS if next(attempts(name, World()), None) is not None]


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_size_is_one_sentence(name):
    w = World()
    before = state_of(w.graph)
    faults = []
    for what, arguments, names in attempts(name, w):
        try:
            CALLS[name][0](w)(*arguments, **names)
        except poplar_error as error:
            if "\n" in str(error) or not str(error):
                faults.append(f"{what}: {error!r}")
            if state_of(w.graph) != before:
                faults.append(f"{what}: the graph has changed")
                w = World()
                before = state_of(w.graph)
        except Exception as error:
            faults.append(f"{what}: {type(error).__name__}: {error}")
            w = World()
        else:
            w = World()
            before = state_of(w.graph)
    assert faults == []
