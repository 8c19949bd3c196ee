"""CSV for spreadsheets: texts that begin like a formula stay texts, numbers stay numbers."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest

from popvision.export.cells import safe_cell, safe_comment, safe_frame
from popvision.export.writing import write_csv


@pytest.mark.parametrize("text", ["=cmd()", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "\uff1d1"])
def test_a_text_like_a_formula_is_quoted(text: str) -> None:
    assert safe_cell(text) == f"'{text}"
    assert safe_cell(f"a{text}") == f"a{text}"


@pytest.mark.parametrize("value", [-1, -0.5, None, True, "", "layer/matmul", "'x"])
def test_all_else_is_left_alone(value: object) -> None:
    assert safe_cell(value) is value


def test_tables_of_the_command() -> None:
    stream = io.StringIO()
    table = {
        "=n": np.array([-1, 2]),
        "name": ["=cmd()", "a"],
        "type": np.array(["-x", "y"]),
        "s": np.array([-0.5, 1.0]),
    }
    write_csv(table, 'model 1,=cmd()\n"=2"; +3', stream)
    comment, *rows = stream.getvalue().split("\n")
    assert comment == """# model 1,'=cmd() "=2"; '+3"""
    assert list(csv.reader(rows))[1:3] == [["-1", "'=cmd()", "'-x", "-0.5"], ["2", "a", "y", "1.0"]]
    assert rows[0].startswith("'=n,")


def test_frames_of_long_tables() -> None:
    frame = pd.DataFrame({"=n": [-1, 2], "name": ["=cmd()", None], "kind": pd.Categorical(["-a", "b"])})
    assert safe_frame(frame).to_csv(index=False).split() == ["'=n,name,kind", "-1,'=cmd(),'-a", "2,,b"]
    assert frame["name"][0] == "=cmd()"


def test_a_comment_is_one_line() -> None:
    assert safe_comment("a\n=b, c") == "a =b, c"
