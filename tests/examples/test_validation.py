"""The matmul chain's published figures that public rules reach, kept reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.validate import measure, verdict


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    return measure(Path(tmp_path_factory.mktemp("chain"))).values


def test_bytes_that_are_equal(ours: dict[str, float]) -> None:
    assert ours["interleaved memory"] == 8_960_000
    assert ours["always live m4/Conv_1/worklists"] + ours["always live m5/Conv_1/worklists"] == 99_000
    assert [ours[f"always live m{i}"] for i in (1, 2, 3)] == [1_600_000, 800_000, 320_000]


@pytest.mark.parametrize(
    ("name", "published", "tolerance"),
    [
        ("total cycles", 34_655, 0.06),
        ("m4 Transpose", 590, 0.02),
        ("m5 Transpose", 876, 0.01),
        ("m4 rearrange copy", 314, 0.02),
        ("m4 Convolve", 15_248, 0.03),
        ("m5 Convolve", 7_906, 0.06),
        ("m4 Reduce0", 3_471, 0.03),
        ("m5 Reduce0", 2_392, 0.06),
        ("memory including gaps", 307_309_104, 0.01),
        ("memory excluding gaps", 59_894_241, 0.04),
        ("peak live", 57.1, 0.01),
        ("live at m5/Conv_1/Convolve", 28.0, 0.02),
    ],
)
def test_figures_stay_as_near_as_they_are(
    ours: dict[str, float], name: str, published: float, tolerance: float
) -> None:
    assert abs(ours[name] / published - 1) <= tolerance


def test_verdicts() -> None:
    assert verdict(100, 100) == "equal"
    assert verdict(100, 107, tolerance=8) == "equal"
    assert [verdict(100, v) for v in (100.5, 96, 109, 80)] == ["within 1 %", "within 5 %", "within 10 %", "off"]
