"""Memory that the simulator and the process of the codelets both map."""

from __future__ import annotations

import mmap
import os
import weakref

import numpy as np

from simulator.arrays import AnyArray


class SharedBytes:
    """`size` bytes, zeros at first, gone when nobody uses them any more."""

    def __init__(self, size: int) -> None:
        self.size = max(size, 1)
        self.descriptor = os.memfd_create("popvision")
        os.ftruncate(self.descriptor, self.size)
        self.memory: AnyArray = np.frombuffer(mmap.mmap(self.descriptor, self.size), np.uint8)
        weakref.finalize(self, os.close, self.descriptor)
