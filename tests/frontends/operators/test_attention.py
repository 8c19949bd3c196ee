"""Attention and embeddings on the device beside float64 torch."""

from typing import Any

import pytest
import torch

from tests.frontends.operators.operator_twin import check_operator

F = torch.nn.functional
attend = F.scaled_dot_product_attention


@pytest.mark.parametrize(
    ("query", "keys", "width", "named"),
    [
        ((2, 3, 4, 5), (2, 3, 6, 5), 7, {}),
        ((2, 1, 5), (2, 1, 5), 3, {"scale": 0.3}),
        ((2, 2, 5, 3), (2, 2, 5, 3), 3, {"is_causal": True}),
        ((1, 4, 3, 2), (1, 2, 3, 2), 2, {"enable_gqa": True}),
        ((2, 3, 4, 5), (1, 3, 4, 5), 5, {}),
    ],
)
def test_attention(query: Any, keys: Any, width: int, named: dict[str, Any]) -> None:
    operands = torch.randn(query), torch.randn(keys), torch.randn(*keys[:-1], width)
    check_operator(lambda q, k, v: attend(q, k, v, **named), *operands, length=keys[-2])


def test_masks() -> None:
    operands = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 6, 5), torch.randn(2, 3, 6, 5)
    allowed = torch.rand(4, 6) > 0.4
    allowed[:, 0] = True
    check_operator(attend, *operands, allowed, length=6)
    check_operator(attend, *operands, torch.randn(2, 1, 4, 6), length=6)


def test_multi_head_attention() -> None:
    torch.manual_seed(2)
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    names, weights = zip(*layer.named_parameters(), strict=True)

    def call(x: Any, *given: Any) -> Any:
        return torch.func.functional_call(layer, dict(zip(names, given, strict=True)), (x, x, x))

    check_operator(call, torch.randn(2, 5, 8), *(one.detach() for one in weights), length=8)


@pytest.mark.parametrize("shape", [(3,), (2, 4), (1, 1)])
def test_embedding(shape: Any) -> None:
    check_operator(lambda t, i: F.embedding(i, t), torch.randn(7, 5), torch.randint(0, 7, shape))


def test_embedding_with_padding() -> None:
    check_operator(lambda t, i: F.embedding(i, t, padding_idx=2), torch.randn(5, 3), torch.tensor([2, 0, 2, 4]))
