"""Lines on stderr in the form and the words of TensorFlow's driver for IPUs, which scripts search for."""

from __future__ import annotations

import os
import sys
from datetime import datetime

_DRIVER = "tensorflow/compiler/plugin/poplar/driver/"
EXECUTOR = _DRIVER + "poplar_executor.cc:1619"
COMPILER = _DRIVER + "poplar_compiler.cc:1980"
COMPILED = "tensorflow/compiler/jit/xla_compilation_cache.cc:376"
_said: set[str] = set()


def log(place: str, sentence: str, level: str = "I") -> None:
    """One line; TF_CPP_MIN_LOG_LEVEL hides it as it hides TensorFlow's own."""
    if int(os.environ.get("TF_CPP_MIN_LOG_LEVEL", "0") or 0) <= "IWE".index(level):
        print(f"{datetime.now():%Y-%m-%d %H:%M:%S.%f}: {level} {place}] {sentence}", file=sys.stderr, flush=True)


def log_once(place: str, sentence: str, level: str = "I") -> None:
    """A line of which the process gets one."""
    if sentence not in _said:
        _said.add(sentence)
        log(place, sentence, level)
