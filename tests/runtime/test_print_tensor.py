"""The text of PrintTensor."""

import numpy as np

from simulator.poplar.program import FloatFormat, PrintTensorFmt
from simulator.runtime.values.print_tensor import tensor_text

PLAIN = PrintTensorFmt()


def test_integers_are_bare_and_floats_have_seven_decimals():
    assert tensor_text("v4-1", np.arange(10, 20, dtype=np.int32), PLAIN) == "v4-1: [10 11 12 13 14 15 16 17 18 19]"
    expected = "v1-debug: [1.0000000 1.5000000 2.0000000 2.5000000]"
    assert tensor_text("v1-debug", np.array([1, 1.5, 2, 2.5], np.float32), PLAIN) == expected


def test_a_matrix_has_one_row_per_line():
    matrix = np.array([[5.0, 4.5], [4.0, 3.5]], np.float32)
    assert tensor_text("v3", matrix, PLAIN) == "v3: [\n  [5.0000000 4.5000000]\n  [4.0000000 3.5000000]\n]"


def test_a_scalar_has_no_brackets_and_no_title_leaves_none():
    assert tensor_text("", np.array(2.5, np.float32), PLAIN) == "2.5000000"
    assert tensor_text("b", np.array([True, False]), PLAIN) == "b: [1 0]"


def test_columns_are_aligned():
    assert tensor_text("", np.array([1, 100, 10]), PLAIN) == "[  1 100  10]"


def test_large_tensors_show_their_edges():
    form = PrintTensorFmt(summariseThreshold=5, edgeItems=2)
    assert tensor_text("", np.arange(9), form) == "[0 1 ... 7 8]"
    rows = tensor_text("", np.arange(30).reshape(6, 5), form).splitlines()
    assert rows == [
        "[",
        "  [ 0  1 ...  3  4]",
        "  [ 5  6 ...  8  9]",
        "  ...",
        "  [20 21 ... 23 24]",
        "  [25 26 ... 28 29]",
        "]",
    ]


def test_lines_wrap_at_the_width():
    text = tensor_text("", np.arange(6), PrintTensorFmt(maxLineWidth=6))
    assert text == "[0 1 2\n 3 4 5]"


def test_float_formats_digits_and_brackets():
    value = np.array([0.5], np.float32)
    assert tensor_text("", value, PrintTensorFmt(digits=2, floatFormat=FloatFormat.Scientific)) == "[5.00e-01]"
    assert tensor_text("", value, PrintTensorFmt(digits=1, open="{", close="}")) == "{0.5}"
    assert tensor_text("", np.array([0.5, 2]), PrintTensorFmt(sep=", ", floatFormat=FloatFormat.None_)) == "[0.5,   2]"
    assert tensor_text("", np.array([1e-9, 1.0]), PrintTensorFmt(digits=1)) == "[1.0e-09 1.0e+00]"
    assert tensor_text("", np.array([np.nan, np.inf, 1.0]), PrintTensorFmt(digits=1)) == "[nan inf 1.0]"
