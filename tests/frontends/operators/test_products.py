"""Products of matrices on the device beside float64 torch."""

import pytest
import torch

from tests.frontends.operators.operator_twin import check_operator

F = torch.nn.functional


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("shape", "out"), [((4, 5), 7), ((2, 3, 5), 1), ((5,), 3), ((1, 1), 1), ((13, 17), 11)])
def test_linear(shape: tuple[int, ...], out: int, bias: bool) -> None:
    operands = [torch.randn(*shape), torch.randn(out, shape[-1])] + [torch.randn(out)] * bias
    check_operator(F.linear, *operands, length=shape[-1])


def test_linear_infers() -> None:
    check_operator(F.linear, torch.randn(3, 4), torch.randn(2, 4), training=False)
