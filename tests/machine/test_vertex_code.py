"""Code bytes of vertex types follow from what they do."""

from __future__ import annotations

import re

import pytest

from simulator.machine.cycles.rates import BINARY
from simulator.machine.vertex_code import COUNTED, ESTIMATED, vertex_code

ADD = "popops::BinaryOp1D<popops::expr::BinaryOpType::{},{}>"


def test_the_published_adder() -> None:
    """170,788 B: SetSeed on 1,216 tiles, one BinaryOp1D and one ScaledAdd on tiles of their own."""
    ours = 1216 * vertex_code("poprand::SetSeed").bytes
    assert ours == 1216 * 140
    of_two = vertex_code(ADD.format("ADD", "float")).bytes + vertex_code("popops::ScaledAddSupervisor<float>").bytes
    assert of_two == 284 + 292
    assert abs(of_two - (170_788 - 1216 * 140)) < 0.06 * 548


@pytest.mark.parametrize(
    ("name", "bytes_", "class_"),
    [
        ("poplin::ConvPartial1x1Out<half,float,true,false,16,4,false>", 4 * 193, "fitted"),
        ("poplin::ReduceAdd<float,half,false,false>", 4 * 132, "fitted"),
        ("popops::ScaledAdd2D<float>", 4 * 40, "guess"),
        ("poplin::ConvPartialnx1<half,float>", 4 * 321, "guess"),
        ("MyCodelet", 256, "guess"),
        ("poplar_rt::LocalCopy", 240, "guess"),
    ],
)
def test_types(name: str, bytes_: int, class_: str) -> None:
    found = vertex_code(name)
    assert found.bytes == bytes_
    assert found.source.startswith(class_)


def test_slower_operators_have_more_code() -> None:
    sizes = {
        rates["float"].cycles: vertex_code(ADD.format(name, "float")).bytes
        for name, rates in BINARY.items()
        if "float" in rates
    }
    ordered = [sizes[cycles] for cycles in sorted(sizes)]
    assert ordered == sorted(ordered)
    assert len(set(ordered)) > 5


def test_every_figure_is_whole_instructions_with_a_class() -> None:
    for name in (*COUNTED, *ESTIMATED, ADD.format("POWER", "half")):
        found = vertex_code(name)
        assert found.bytes % 4 == 0
        assert 16 <= found.bytes <= 2048
        assert re.match(r"(exact|fitted|guess): ", found.source)
