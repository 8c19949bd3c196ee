"""Numbers as text in the units that the browser asks for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports import write_tiny
from tests.webapp.preferring import preferring
from webapp.base import preferences
from webapp.base.formats import bytes_text, cycles_phrase, cycles_text, in_units
from webapp.base.library import Library
from webapp.graph_analyser.plots.bytes_axis import both_units, byte_ticks
from webapp.shell.app import create_app

SIZES = {
    "binary": {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4},
    "si": {"B": 1, "kB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4},
    "bytes": {"B": 1},
}


def value_of(text: str, units: str) -> float:
    number, unit = text.split(" ")
    return float(number.replace(",", "")) * SIZES[units][unit]


@pytest.mark.parametrize(
    ("units", "texts"),
    [
        ("binary", ["0 B", "999 B", "1,000 B", "1.0 KiB", "624.0 KiB", "1.0 MiB", "-1.0 KiB", "–"]),
        ("si", ["0 B", "999 B", "1.0 kB", "1.0 kB", "639.0 kB", "1.0 MB", "-1.0 kB", "–"]),
        ("bytes", ["0 B", "999 B", "1,000 B", "1,024 B", "638,976 B", "1,048,575 B", "-1,024 B", "–"]),
    ],
)
def test_bytes_in_each_unit(units: str, texts: list[str]) -> None:
    values = [0, 999, 1000, 1024, 638_976, 2**20 - 1, -1024, None]
    with preferring(units=units):
        assert [bytes_text(value) for value in values] == texts


@given(st.sampled_from(sorted(SIZES)), st.integers(0, 2**50))
def test_a_rounded_text_is_within_its_last_digit(units: str, value: int) -> None:
    with preferring(units=units):
        text = bytes_text(value)
    assert abs(value_of(text, units) - value) <= 0.0501 * SIZES[units][text.split(" ")[1]]


@given(st.sampled_from(sorted(SIZES)), st.integers(0, 2**45), st.integers(2, 12))
def test_ticks_are_round_and_exact_in_the_unit(units: str, top: int, most: int) -> None:
    with preferring(units=units):
        values, texts = byte_ticks(top, most)
    assert values[0] == 0
    assert values[-1] >= top
    assert len(values) <= most + 2
    (step,) = set(np.diff(values).tolist())
    leading = str(step).rstrip("0")
    assert step.bit_count() == 1 if units == "binary" else leading in ("1", "2", "5")
    for value, text in zip(values[1:], texts[1:], strict=True):
        assert value_of(text, units) == pytest.approx(value, rel=1e-12)


def test_cycles_become_time_only_with_a_clock() -> None:
    assert cycles_text(1_850_000, 1.85e9) == "1,850,000"
    assert cycles_phrase(1_850_000, 1.85e9) == "1,850,000 cycles"
    with preferring(time="time"):
        assert cycles_text(1_850_000, 1.85e9) == cycles_phrase(1_850_000, 1.85e9) == "1 ms"
        assert cycles_text(1_850_000) == "1,850,000"
        assert cycles_phrase(1_850_000) == "1,850,000 cycles"
        assert cycles_text(None, 1.85e9) == cycles_phrase(None, 1.85e9) == "–"


def test_exact_text_names_both() -> None:
    with preferring(units="si"):
        assert both_units(59_894_241) == "59,894,241 B (59.9 MB)"
    with preferring(units="bytes"):
        assert both_units(59_894_241) == "59,894,241 B"


@pytest.mark.parametrize("cookie", ["", "SI", "si;", "binary\x00", "../etc", "x" * 4000])
def test_a_cookie_outside_the_list_is_the_default(cookie: str) -> None:
    assert preferences.read({"popvision_units": cookie, "popvision_time": cookie}) == preferences.Preferences()


def test_a_request_is_answered_in_the_units_of_its_cookies(tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny")
    app = create_app(Library([tmp_path]))
    seen = []
    app.server.add_url_rule("/seen", "seen", lambda: seen.append(preferences.current()) or "ok")  # type: ignore[func-returns-value]
    client = app.server.test_client()
    client.set_cookie("popvision_units", "si")
    client.set_cookie("popvision_time", "time")
    client.get("/seen", headers={"Host": "localhost"})
    client.delete_cookie("popvision_units")
    client.get("/seen", headers={"Host": "localhost"})
    assert seen == [preferences.Preferences("si", "time"), preferences.Preferences("binary", "time")]


def test_bytes_within_a_sentence_are_in_the_users_unit() -> None:
    said = "Tile 0 is over by 2,795,744 B (1,604,804 B of variables), at 4,096 B a cycle; tile 12 has 812 B left."
    shown = "Tile 0 is over by 2.7 MiB (1.5 MiB of variables), at 4,096 B a cycle; tile 12 has 812 B left."
    assert in_units(said) == shown
    assert in_units("Not attributed -2,795,744 B: a-b -4 twice.") == "Not attributed \u22122.7 MiB: a-b \u22124 twice."
