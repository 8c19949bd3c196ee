"""torchvision.transforms that programs for MNIST use. Images are NumPy arrays or what converts to one (H x W or
H x W x C bytes), tensors are C x H x W."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch


class Compose:
    """One transform after the other."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, image: Any) -> Any:
        for transform in self.transforms:
            image = transform(image)
        return image

    def __repr__(self) -> str:
        return "\n".join(["Compose(", *(f"    {transform}" for transform in self.transforms), ")"])


class ToTensor:
    """Bytes 0 to 255 as float32 0 to 1; other types keep their values."""

    def __call__(self, image: Any) -> Any:
        pixels = np.asarray(image)
        if pixels.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pixels.ndim} dimensions.")
        planes = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
        tensor = torch.from_numpy(np.ascontiguousarray(planes))
        return tensor.to(torch.get_default_dtype()).div(255) if pixels.dtype == np.uint8 else tensor

    def __repr__(self) -> str:
        return "ToTensor()"


class Normalize:
    """(tensor - mean) / std, by channel."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        self.mean, self.std, self.inplace = mean, std, inplace
        if any(each == 0 for each in torch.as_tensor(std).reshape(-1).tolist()):
            raise ValueError(f"std evaluated to zero, leading to division by zero: {std}")

    def __call__(self, tensor: Any) -> Any:
        if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
            raise TypeError(f"Normalize takes a float tensor, not {type(tensor).__name__}; put ToTensor before it.")
        mean, std = (torch.as_tensor(each, dtype=tensor.dtype).reshape(-1, 1, 1) for each in (self.mean, self.std))
        result = tensor if self.inplace else tensor.clone()
        return result.sub_(mean).div_(std)

    def __repr__(self) -> str:
        return f"Normalize(mean={self.mean}, std={self.std})"


class Lambda:
    """A function as a transform."""

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__}")
        self.lambd = lambd

    def __call__(self, image: Any) -> Any:
        return self.lambd(image)

    def __repr__(self) -> str:
        return "Lambda()"


class Resize:
    """Bilinear interpolation to (height, width), or to a shorter side of `size`, with antialiasing."""

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = size

    def __call__(self, image: Any) -> Any:
        def resized(planes: Any) -> Any:
            wide = planes.to(torch.float32)[None]
            made = torch.nn.functional.interpolate(
                wide, self._target(*planes.shape[-2:]), mode="bilinear", antialias=True
            )
            return made[0] if planes.is_floating_point() else made[0].round().to(planes.dtype)

        return _over_planes(image, resized)

    def _target(self, height: int, width: int) -> tuple[int, int]:
        if isinstance(self.size, int):
            shorter, size = min(height, width), self.size
            return (size * height // shorter, size * width // shorter)
        if len(self.size) == 1:
            return Resize(self.size[0])._target(height, width)
        return (int(self.size[0]), int(self.size[1]))

    def __repr__(self) -> str:
        return f"Resize(size={self.size})"


class CenterCrop:
    """The middle (height, width) of an image."""

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = (size, size) if isinstance(size, int) else tuple(size)

    def __call__(self, image: Any) -> Any:
        def cropped(planes: Any) -> Any:
            rows, columns = (have - want for have, want in zip(planes.shape[-2:], self.size, strict=True))
            if min(rows, columns) < 0:
                raise ValueError(f"CenterCrop of {self.size} is larger than the image of {tuple(planes.shape[-2:])}.")
            top, left = round(rows / 2), round(columns / 2)
            return planes[..., top : top + self.size[0], left : left + self.size[1]]

        return _over_planes(image, cropped)

    def __repr__(self) -> str:
        return f"CenterCrop(size={self.size})"


class RandomHorizontalFlip:
    """Mirror an image, with probability `p`."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, image: Any) -> Any:
        return _over_planes(image, lambda planes: planes.flip(-1)) if torch.rand(1) < self.p else image

    def __repr__(self) -> str:
        return f"RandomHorizontalFlip(p={self.p})"


def _over_planes(image: Any, function: Callable[[Any], Any]) -> Any:
    """A function of C x H x W tensors for an image of any kind, which it keeps."""
    if isinstance(image, torch.Tensor):
        return function(image)
    pixels = np.asarray(image)
    planes = torch.from_numpy(np.ascontiguousarray(pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)))
    made = function(planes).numpy()
    return made[0] if pixels.ndim == 2 else made.transpose(1, 2, 0)
