"""Resizing of images on the device beside float64 torch."""

from typing import Any

import pytest
import torch

from tests.frontends.operators.operator_twin import check_operator

F = torch.nn.functional


def test_nearest() -> None:
    check_operator(
        lambda x: (
            F.interpolate(x, scale_factor=2),
            F.interpolate(x, size=(7, 3)),
            F.interpolate(x, scale_factor=(1.7, 0.6)),
            F.interpolate(x, size=(7, 3), mode="nearest-exact"),
        ),
        torch.randn(2, 3, 4, 5),
    )
    check_operator(lambda x: F.interpolate(x, scale_factor=3), torch.randn(1, 2, 4))
    check_operator(lambda x: F.interpolate(x, size=(3, 2, 4)), torch.randn(1, 1, 2, 3, 2))


@pytest.mark.parametrize("align_corners", [True, False])
def test_interpolated(align_corners: bool) -> None:
    def resized(x: torch.Tensor, mode: str, **how: Any) -> torch.Tensor:
        return F.interpolate(x, mode=mode, align_corners=align_corners, **how)

    check_operator(
        lambda x: (
            resized(x, "bilinear", scale_factor=2),
            resized(x, "bilinear", size=(1, 9)),
            resized(x, "bilinear", scale_factor=(1.5, 0.5)),
            resized(x, "bicubic", size=(6, 3)),
            resized(x[0], "linear", size=7),
            resized(x[None], "trilinear", size=(2, 5, 6)),
        ),
        torch.randn(2, 3, 4, 5),
        rtol=3e-4,
    )


def test_halves() -> None:
    check_operator(
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False),
        torch.randn(1, 2, 3, 4).half(),
        rtol=2e-2,
    )
