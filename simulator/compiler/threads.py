"""Run independent work on as many threads as opt.maxCompilationThreads allows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

T = TypeVar("T")
S = TypeVar("S")


def on_threads(work: Callable[[S], T], of: Iterable[S], threads: int) -> list[T]:
    """The results of `work`, in order, on at most `threads` threads (0 = one per processor; 1 = the calling thread)."""
    todo = list(of)
    threads = min(threads or len(os.sched_getaffinity(0)), len(todo))
    if threads <= 1:
        return [work(one) for one in todo]
    together = Barrier(threads)  # makes every share start on its own thread, however short

    def share(first: int) -> list[T]:
        together.wait()
        return [work(one) for one in todo[first::threads]]

    with ThreadPoolExecutor(threads, thread_name_prefix="poplar compile") as pool:
        shares = list(pool.map(share, range(threads)))
    return [shares[i % threads][i // threads] for i in range(len(todo))]
