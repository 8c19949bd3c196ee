"""torchvision.datasets' MNIST and FashionMNIST: the user's IDX files, or else synthetic images of the same form.

IDX is the format of MNIST (http://yann.lecun.com/exdb/mnist/): a magic number, big-endian sizes, bytes.
POPVISION_SYNTHETIC_IMAGES=train,test changes how many synthetic images there are (60000,10000).
"""

from __future__ import annotations

import gzip
import math
import os
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from simulator.frontends.synthetic_images import CLOTHES, DIGITS, image_counts, synthetic_images

_UNSIGNED_BYTE = 8


def find_idx(folder: Path, name: str) -> Path | None:
    """The file `name`, or its packed form, in a folder; None where there is none."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def read_idx(path: Path, dimensions: int) -> Any:
    """The bytes of an IDX file as an array. Raises RuntimeError, which names the file, for anything but a whole file
    of bytes in so many dimensions."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise RuntimeError(f"{path} cannot be read: {error}.") from None
    head = 4 + 4 * dimensions
    if len(content) < head or content[:4] != bytes([0, 0, _UNSIGNED_BYTE, dimensions]):
        raise RuntimeError(f"{path} is no IDX file of bytes in {dimensions} dimension(s).")
    shape = tuple(int(size) for size in np.frombuffer(content, ">i4", dimensions, 4))
    if len(content) != head + math.prod(shape):
        raise RuntimeError(
            f"{path} says that it holds {math.prod(shape)} bytes of shape {shape}, and holds {len(content) - head}."
        )
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)


_told: set[str] = set()


class MNIST(torch.utils.data.Dataset):
    """Images (28 by 28 bytes, as a NumPy array before `transform`) and labels. IDX files are looked for in
    root/<class>/raw, torchvision's place, and in root. `download` changes nothing: nothing is downloaded."""

    classes: Sequence[str] = (
        "0 - zero",
        "1 - one",
        "2 - two",
        "3 - three",
        "4 - four",
        "5 - five",
        "6 - six",
        "7 - seven",
        "8 - eight",
        "9 - nine",
    )
    strokes = DIGITS

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = False,
    ) -> None:
        """Raises RuntimeError for a file that is no IDX file, or whose labels are not as many as its images."""
        self.root, self.train = Path(root).expanduser(), train
        self.transform, self.target_transform = transform, target_transform
        images, labels = self._read() or self._make()
        self.data = torch.from_numpy(images.copy())
        self.targets = torch.from_numpy(labels.astype("int64"))

    @property
    def raw_folder(self) -> str:
        """torchvision's place of the files."""
        return str(self.root / type(self).__name__ / "raw")

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Label by name."""
        return {name: index for index, name in enumerate(self.classes)}

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image: Any = self.data[index].numpy()
        label: Any = int(self.targets[index])
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return image, label

    def __repr__(self) -> str:
        split = "Train" if self.train else "Test"
        return (
            f"Dataset {type(self).__name__}\n    Number of datapoints: {len(self)}\n    Root location: {self.root}\n"
            f"    Split: {split}"
        )

    def _read(self) -> tuple[Any, Any] | None:
        prefix = "train" if self.train else "t10k"
        for folder in (Path(self.raw_folder), self.root):
            images = find_idx(folder, f"{prefix}-images-idx3-ubyte")
            labels = find_idx(folder, f"{prefix}-labels-idx1-ubyte")
            if (images is None) != (labels is None):
                lacking = f"{prefix}-labels-idx1-ubyte" if images else f"{prefix}-images-idx3-ubyte"
                raise RuntimeError(
                    f"{images or labels} has no {lacking} beside it; put that file there or remove both."
                )
            if images and labels:
                pixels, numbers = read_idx(images, 3), read_idx(labels, 1)
                if len(pixels) != len(numbers):
                    raise RuntimeError(f"{images} has {len(pixels)} images, {labels} has {len(numbers)} labels.")
                return pixels, numbers
        return None

    def _make(self) -> tuple[Any, Any]:
        name = type(self).__name__
        if name not in _told:
            _told.add(name)
            sys.stderr.write(
                f"torchvision stand-in: {self.raw_folder} has no IDX files of {name}; synthetic images take their "
                "place.\n"
            )
        return synthetic_images(self.strokes, image_counts()[0 if self.train else 1], 0 if self.train else 1)


class FashionMNIST(MNIST):
    """As MNIST, of clothes."""

    classes = (
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    )
    strokes = CLOTHES
