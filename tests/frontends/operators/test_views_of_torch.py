"""Views, slices and joins on the device beside float64 torch."""

import itertools

import pytest
import torch

from tests.frontends.operators.operator_twin import check_operator

X = torch.randn(2, 3, 5)


def test_shapes() -> None:
    check_operator(
        lambda x: (
            x.view(6, 5), x.reshape(-1, 2), x.flatten(1), x.flatten(), x.unflatten(2, (5, -1)), x[0].t(),
            x.transpose(0, 2), x.permute(2, 0, 1), x.movedim(0, -1), x.unsqueeze(1), x.unsqueeze(-1).squeeze(-1),
            x.unsqueeze(0).squeeze(), x.swapaxes(0, 1).contiguous().view(-1),
        ),
        X,
    )  # fmt: skip


def test_scalars_and_nothing() -> None:
    check_operator(lambda x: (x.view(1), x.flatten(), x.expand(3), x.unsqueeze(0)), torch.tensor(2.0))
    check_operator(lambda x: torch.cat((x[:0].view(3, 0), x[:0].transpose(0, 1), x[1:]), 1), torch.randn(4, 3))


def test_repetition() -> None:
    check_operator(
        lambda x, y: (y.expand(4, 3, 5), y.expand(-1, 3, -1), x.repeat(2, 1, 3), x.tile(2),
                       x.flip(0, 2), x.roll(2, 1), x.roll(-7),
                      x.roll((1, -1), (0, 2)), x.repeat_interleave(3, 1), torch.broadcast_tensors(x, y)[1]),
        X,
        torch.randn(1, 1, 5),
    )  # fmt: skip


def test_slices() -> None:
    check_operator(
        lambda x: (
            x[0],
            x[:, 1:],
            x[..., ::2],
            x[:, -1, 1:4],
            x[:, :, 1:5:3],
            x.narrow(1, 1, 2),
            x.select(2, -2),
            x[None, 0],
        ),
        X,
    )


def test_splits() -> None:
    check_operator(
        lambda x: (*x.split(2, 2), *x.split((1, 2), 1), *x.chunk(2, 1), *x.unbind(1), *x.tensor_split(3, 2)), X
    )


def test_joins() -> None:
    check_operator(
        lambda x, y: (
            torch.cat((x, y), 1),
            torch.stack((x, x), -1),
            torch.cat((x, y, x), -2),
            torch.cat((x.half(), y), 1),
        ),
        X,
        torch.randn(2, 1, 5),
        rtol=1e-3,
    )


def test_writing_slices() -> None:
    def write(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a = x.clone()
        a[:, 0] = 2.0
        a[:, 1:2, 1::2] = y
        written = torch.slice_scatter(x, z, 2, 0, 5, 2), x.select_scatter(z[:, :, 0], 2, -1)
        return a, *written

    check_operator(write, X, torch.randn(2, 1, 2), torch.randn(2, 3, 3))


def test_windows_and_diagonals() -> None:
    check_operator(
        lambda x: (x.unfold(2, 3, 1), x.unfold(1, 2, 2), x.unfold(2, 2, 3), x.diagonal(0, 1, 2), x.diagonal(1, 0, 2)), X
    )
    check_operator(
        lambda x, d: (x.diagonal_scatter(d, 0, 1, 2), torch.diag_embed(d), torch.diag(d[0])), X, torch.randn(2, 3)
    )


def test_triangles() -> None:
    check_operator(lambda x: (x.tril(), x.triu(1), x.tril(-1), x.triu(-2), x[0].tril(2)), X)


def test_padding() -> None:
    pad = torch.nn.functional.pad
    x = torch.randn(2, 3, 4, 5)
    check_operator(
        lambda x: (
            pad(x, (1, 2)),
            pad(x, (0, 1, 2, 0), value=1.5),
            pad(x, (-1, 1, 1, -2)),
            pad(x, (2, 1, 3, 0), "reflect"),
            pad(x, (2, 1, 0, 3), "replicate"),
            pad(x, (2, 1, 1, 3), "circular"),
            pad(x, (-1, 1, -2, 1), "circular"),
            pad(x, (-1, 1, 2, -1), "reflect"),
            pad(x, (2, -2, -1, 2), "replicate"),
            pad(x[0], (4, -1), "reflect"),
            pad(x[0], (-1, 6), "replicate"),
        ),
        x,
    )


def test_shuffled_pixels() -> None:
    shuffle = torch.nn.functional.pixel_shuffle
    check_operator(lambda x: (shuffle(x, 2), torch.nn.functional.pixel_unshuffle(x, 3)), torch.randn(2, 8, 3, 6))


def test_grids_and_stacks() -> None:
    check_operator(
        lambda a, b: (
            *torch.meshgrid(a, b, indexing="ij"),
            torch.hstack((a, a)),
            torch.outer(a, b),
            torch.vstack((b, b)),
        ),
        torch.randn(3),
        torch.randn(4),
    )


@pytest.mark.long
@pytest.mark.parametrize("start", [None, 0, 2, -3, 9])
@pytest.mark.parametrize("end", [None, 1, 7, -1, 100])
def test_all_slices(start: int | None, end: int | None) -> None:
    steps = [step for step in (1, 2, 3, 11) if torch.arange(7)[start:end:step].numel()]
    if steps:
        check_operator(lambda x: [x[:, start:end:step] for step in steps], torch.randn(2, 7))


@pytest.mark.long
@pytest.mark.parametrize(("size", "step"), list(itertools.product((1, 2, 4, 7), (1, 2, 3, 7))))
def test_all_windows(size: int, step: int) -> None:
    check_operator(lambda x: (x.unfold(0, size, step), x.unfold(1, min(size, 3), step)), torch.randn(7, 3))


@pytest.mark.long
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular", "constant"])
@pytest.mark.parametrize("amounts", [(0, 0), (3, 0), (0, 3), (-1, 2), (2, -1), (1, 1, 3, 2), (0, 2, -1, 0)])
def test_all_paddings(mode: str, amounts: tuple[int, ...]) -> None:
    pad = torch.nn.functional.pad
    check_operator(lambda x: pad(x, amounts, mode), torch.randn(*([2, 3, 4] if len(amounts) == 2 else [2, 3, 4, 5])))
