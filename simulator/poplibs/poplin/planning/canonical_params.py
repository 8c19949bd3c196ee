"""A convolution as the planner sees it: sizes of its activations, kernel and channels, without truncations and flips.

PopLibs calls this form canonical. `poplin.ConvParams`, which programs write, becomes one of these
(`ConvParams.planned`). A matrix product [g, m, k] x [g, k, n] is the convolution of g groups with a kernel of one
position: m positions, k input channels, n output channels. Its operands may be swapped ([g, n, k] x [g, k, m], the
product transposed)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod
from typing import Literal

Dtype = Literal["float", "half"]
Ints = tuple[int, ...]

ELEMENT_BYTES = {"float": 4, "half": 2}


@dataclass(frozen=True)
class CanonicalConvParams:
    """One convolution. Channels are those of one group. Empty tuples stand for strides and dilations of 1 and paddings
    of 0. A negative padding truncates."""

    dtype: Dtype
    out_dtype: Dtype
    groups: int
    batch: int
    field: Ints  #: of the activations
    kernel: Ints
    in_channels: int
    out_channels: int
    stride: Ints = ()
    padding_lower: Ints = ()
    padding_upper: Ints = ()
    kernel_dilation: Ints = ()
    input_dilation: Ints = ()

    def __post_init__(self) -> None:
        if len(self.field) != len(self.kernel):
            raise ValueError(f"a field of shape {self.field} needs a kernel of as many dimensions, not {self.kernel}")
        if min(self.groups, self.batch, self.in_channels, self.out_channels, *self.field, *self.kernel) < 1:
            raise ValueError("every dimension of a convolution must be at least 1")

    def _entry(self, values: Ints, dim: int, default: int) -> int:
        return values[dim] if values else default

    def first(self, values: Ints) -> int:
        """The stride or dilation of the first dimension."""
        return self._entry(values, 0, 1)

    def output_size(self, dim: int) -> int:
        """Positions of the output along one dimension of the field."""
        dilated = (self.field[dim] - 1) * self._entry(self.input_dilation, dim, 1) + 1
        padded = dilated + self._entry(self.padding_lower, dim, 0) + self._entry(self.padding_upper, dim, 0)
        reach = (self.kernel[dim] - 1) * self._entry(self.kernel_dilation, dim, 1) + 1
        return (padded - reach) // self._entry(self.stride, dim, 1) + 1

    @property
    def output_field(self) -> Ints:
        return tuple(self.output_size(dim) for dim in range(len(self.field)))

    def output_step(self, dim: int) -> int:
        """The distance of the outputs along one dimension that one kernel position gives anything but zeros to."""
        dilation = self._entry(self.input_dilation, dim, 1)
        return dilation // gcd(dilation, self._entry(self.stride, dim, 1))

    def input_range(self, dim: int, positions: int, kernel: int) -> int:
        """Activations along one dimension that `positions` adjacent outputs read through `kernel` positions of the
        kernel, at most all of them."""
        stride, reach = self._entry(self.stride, dim, 1), self._entry(self.kernel_dilation, dim, 1)
        dilated = (positions - 1) * stride + 1 + (kernel - 1) * reach
        return min((dilated - 1) // self._entry(self.input_dilation, dim, 1) + 1, self.field[dim])

    def deferred_dims(self) -> list[int]:
        """Dimensions along which the dilation of the input may wait until after the convolution (PopLibs'
        dilatePostConv): outputs that meet a zero of the dilation are zeros, others meet one input each."""
        dims = range(len(self.field))
        return [
            dim
            for dim in dims
            if self._entry(self.input_dilation, dim, 1) > 1
            and self.kernel[dim] == self._entry(self.stride, dim, 1) == 1
            and min(self._entry(self.padding_lower, dim, 0), self._entry(self.padding_upper, dim, 0)) >= 0
        ]

    def deferred(self) -> CanonicalConvParams:
        """The convolution without the dilation and padding of `deferred_dims`."""
        dims = self.deferred_dims()
        if not dims:
            return self

        def cleared(values: Ints, value: int) -> Ints:
            return tuple(value if dim in dims else old for dim, old in enumerate(values))

        return replace(
            self,
            input_dilation=cleared(self.input_dilation, 1),
            padding_lower=cleared(self.padding_lower, 0),
            padding_upper=cleared(self.padding_upper, 0),
        )

    @property
    def pointwise(self) -> bool:
        """Whether each output reads one position only, so that batch and field form one row of positions."""
        plain = (self.stride, self.kernel_dilation, self.input_dilation)
        padding = (self.padding_lower, self.padding_upper)
        return prod(self.kernel) == 1 and all(set(v) <= {1} for v in plain) and all(set(v) <= {0} for v in padding)

    @property
    def positions(self) -> int:
        """Output positions of all batches."""
        return self.batch * prod(self.output_field)

    @property
    def input_positions(self) -> int:
        """Positions of the activations of all batches."""
        return self.batch * prod(self.field)

    @property
    def macs(self) -> int:
        """Multiply-accumulates, including those with padding."""
        return self.groups * self.positions * self.in_channels * self.out_channels * prod(self.kernel)

    @property
    def output_steps(self) -> int:
        """One output in this many meets an input through a given kernel position."""
        return prod(self.output_step(dim) for dim in range(len(self.field)))

    def flattened(self) -> CanonicalConvParams:
        """A pointwise convolution as one row of positions."""
        return replace(
            self,
            batch=1,
            field=(self.positions,),
            kernel=(1,),
            stride=(),
            padding_lower=(),
            padding_upper=(),
            kernel_dilation=(),
            input_dilation=(),
        )

    def swapped(self) -> CanonicalConvParams:
        """A pointwise convolution with activations and kernel exchanged: outputs become positions, and positions
        outputs."""
        flat = self.flattened()
        return replace(flat, field=(flat.out_channels,), out_channels=flat.positions)


def matmul_params(dtype: Dtype, out_dtype: Dtype, groups: int, m: int, k: int, n: int) -> CanonicalConvParams:
    """[groups, m, k] x [groups, k, n], operands not swapped: m positions, n output channels."""
    return CanonicalConvParams(dtype, out_dtype, groups, 1, (m,), (1,), k, n)
