"""poptorch.AsynchronousDataAccessor: another process loads batches ahead, into a bounded queue of shared tensors.

The process counts epochs. A command "iterate n" makes it begin epoch n, whatever it does; what it has loaded of an
earlier epoch is dropped by the reader.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import pickle
import queue
import tempfile
import traceback
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.multiprocessing

from simulator.frontends.poptorch.enums import SharingStrategy
from simulator.frontends.poptorch.errors import Error, OptionError
from simulator.frontends.poptorch.option_group import checked_bool, checked_count

_METHODS = {
    SharingStrategy.SharedMemory: "spawn",
    SharingStrategy.FileSystem: "spawn",
    SharingStrategy.Fork: "fork",
    SharingStrategy.ForkServer: "forkserver",
}
#: kinds of what the process sends
_BATCH, _END, _FAILURE = range(3)
#: seconds between looks at whether the other process is alive
_PATIENCE = 1.0


class AsynchronousDataAccessor:
    """Iterates over a data set or a DataLoader that another process reads. At most `buffer_size` batches wait."""

    def __init__(
        self,
        dataset: Any,
        buffer_size: int = 3,
        miss_sleep_time_in_ms: float = 0.1,
        load_indefinitely: bool = True,
        early_preload: bool = False,
        sharing_strategy: SharingStrategy = SharingStrategy.FileSystem,
        rebatched_size: int | None = None,
    ) -> None:
        """`load_indefinitely`: begin the next epoch where one ends. `early_preload`: begin before the first iteration.
        `rebatched_size`: put smaller batches together. `miss_sleep_time_in_ms`: how often the process looks whether
        the queue has room."""
        self._process: Any = None
        if getattr(dataset, "is_asynchronous", False):
            raise Error(
                "The DataLoader already uses an AsynchronousDataAccessor internally. Either use the existing one or "
                "set mode='poptorch.DataLoaderMode.Sync' in the DataLoader."
            )
        if rebatched_size is not None and checked_count("rebatched_size", rebatched_size) < 2:
            raise OptionError("rebatched_size must be None or greater than 1")
        keeps_last = getattr(dataset, "drop_last", True) is False and hasattr(dataset, "combinedBatchSize")
        if keeps_last and rebatched_size is None and dataset.combinedBatchSize not in (None, 1):
            raise OptionError(
                "The 'drop_last=False' option from the DataLoader only works if 'rebatched_size' is specified too."
            )
        if not isinstance(sharing_strategy, SharingStrategy):
            raise OptionError(f"sharing_strategy is a poptorch.SharingStrategy, not {sharing_strategy!r}.")
        self._dataset, self.rebatched_size = dataset, rebatched_size
        self._load_indefinitely = checked_bool("load_indefinitely", load_indefinitely)
        self._epoch, self._is_begun, self._is_used, self._is_ended = 0, False, False, False
        checked_count("buffer_size", buffer_size)
        checked_bool("early_preload", early_preload)
        context = torch.multiprocessing.get_context(_METHODS[sharing_strategy])
        self._commands, commands = context.Pipe()
        self._queue = context.Queue(buffer_size)
        plan = (load_indefinitely, early_preload, rebatched_size, miss_sleep_time_in_ms / 1000)
        self._start(context, sharing_strategy, (commands, self._queue, plan))
        commands.close()
        atexit.register(_terminate, weakref.ref(self))

    def _start(self, context: Any, strategy: SharingStrategy, rest: tuple[Any, ...]) -> None:
        """Start the process; a file carries the data set where the strategy says so, and is removed afterwards."""
        source: Any = self._dataset
        if strategy is SharingStrategy.FileSystem:
            handle, name = tempfile.mkstemp(prefix="poptorch-dataset-", suffix=".pickle")
            source = Path(name)
            with os.fdopen(handle, "wb") as file:
                pickle.dump(self._dataset, file)
        process = context.Process(target=_load, args=(source, *rest))
        process.start()
        self._process = process  # from here on `terminate` has something to end

    def terminate(self) -> None:
        """End the process."""
        process, self._process = self.__dict__.get("_process"), None
        if process is not None:
            self._commands.close()
            process.terminate()
            process.join()
            self._queue.close()

    def __del__(self) -> None:
        self.terminate()

    def __len__(self) -> int:
        batches = len(self._dataset)
        if self.rebatched_size and not hasattr(self._dataset, "is_asynchronous"):
            return batches * getattr(self._dataset, "batch_size", 1) // self.rebatched_size
        return batches

    def __iter__(self) -> Iterator[Any]:
        if self._process is None:
            raise Error("The process of this AsynchronousDataAccessor was terminated.")
        if self._is_begun and (self._is_ended or self._is_used):
            self._epoch += 1
        # A process that is gone is told of by `__next__`; one that has begun this epoch already goes on with it.
        with contextlib.suppress(BrokenPipeError):
            self._commands.send(self._epoch)
        self._is_begun, self._is_used, self._is_ended = True, False, False
        return self

    def __next__(self) -> Any:
        if self._is_ended:
            raise StopIteration
        kind, content = self._received()
        if kind == _FAILURE:
            self.terminate()
            raise Error(f"An error occurred in the data fetcher: {content}")
        if kind == _END:
            self._is_ended = True
            raise StopIteration
        self._is_used = True
        return content

    def _received(self) -> tuple[int, Any]:
        """The next of this epoch."""
        while True:
            if self._process is None:
                raise Error("The process of this AsynchronousDataAccessor was terminated.")
            try:
                epoch, kind, content = self._queue.get(timeout=_PATIENCE)
            except (queue.Empty, EOFError, OSError):
                # A tensor comes as a handle, which a process that is gone does not give out any more.
                if not self._process.is_alive():
                    return _FAILURE, f"its process ended with exit code {self._process.exitcode}"
                continue
            if epoch == self._epoch or kind == _FAILURE:
                return kind, content


def _terminate(reference: weakref.ref[AsynchronousDataAccessor]) -> None:
    """End the process of an accessor that is still there when the program ends."""
    accessor = reference()
    if accessor is not None:
        accessor.terminate()


def _load(source: Any, commands: Any, batches: Any, plan: tuple[bool, bool, int | None, float]) -> None:
    """Main function of the process."""
    goes_on, begins_early, rebatched_size, sleep = plan
    torch.set_num_threads(1)
    loader = _Loader(commands, batches, sleep)
    try:
        if isinstance(source, Path):
            with source.open("rb") as file:
                dataset = pickle.load(file)
            source.unlink()
        else:
            dataset = source
        epoch = 0 if begins_early else loader.wait_for_command(-1)
        while epoch is not None:
            asked = loader.send_epoch(epoch, dataset, rebatched_size)
            if asked is None and not loader.is_orphan:
                asked = epoch + 1 if goes_on else loader.wait_for_command(epoch)
            epoch = asked
    except KeyboardInterrupt:
        pass
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        loader.put((0, _FAILURE, f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"))
        loader.wait_for_end()


class _Loader:
    """The process's side of the pipe and the queue."""

    def __init__(self, commands: Any, batches: Any, sleep: float) -> None:
        self._commands, self._batches, self._sleep = commands, batches, max(sleep, 1e-4)
        self._parent = multiprocessing.parent_process()
        self.is_orphan = False

    def wait_for_command(self, epoch: int) -> int | None:
        """The next epoch that is wanted after `epoch`; None where the reader is gone."""
        while not self.is_orphan:
            wanted = self._command(epoch, _PATIENCE)
            if wanted is not None:
                return wanted
        return None

    def wait_for_end(self) -> None:
        """Stay until the reader ends this process, so that it can read what was sent."""
        while not self.is_orphan:
            self._command(0, _PATIENCE)

    def send_epoch(self, epoch: int, dataset: Any, rebatched_size: int | None) -> int | None:
        """Send the batches of one epoch. Returns the epoch that was commanded meanwhile, or None."""
        is_empty = True
        for batch in _rebatched(dataset, rebatched_size):
            is_empty = False
            wanted = self.put((epoch, _BATCH, batch), epoch)
            if wanted is not None or self.is_orphan:
                return wanted
        if is_empty:
            raise ValueError("The Dataset is empty")
        return self.put((epoch, _END, None), epoch)

    def put(self, item: tuple[int, int, Any], epoch: int | None = None) -> int | None:
        """Wait until the queue has room. Returns an epoch that was commanded meanwhile; the item is dropped then."""
        while not self.is_orphan:
            wanted = None if epoch is None else self._command(epoch, 0)
            if wanted is not None:
                return wanted
            try:
                self._batches.put(item, timeout=self._sleep)
                return None
            except queue.Full:
                self._check_parent()
        return None

    def _command(self, epoch: int, timeout: float) -> int | None:
        """An epoch later than `epoch` that the reader wants."""
        try:
            if self._commands.poll(timeout):
                wanted: int = self._commands.recv()
                return wanted if wanted > epoch else None
        except (EOFError, OSError):
            self.is_orphan = True
        self._check_parent()
        return None

    def _check_parent(self) -> None:
        self.is_orphan = self.is_orphan or self._parent is None or not self._parent.is_alive()


def _rebatched(dataset: Any, size: int | None) -> Iterator[Any]:
    """Batches of a data set, put together to `size` elements; those left over follow where the data set keeps them."""
    parts: list[tuple[torch.Tensor, ...]] = []
    form: Any = None
    for batch in dataset:
        tensors = _tensors(batch)
        if size is None:
            yield batch
            continue
        form = batch
        parts.append(tensors)
        while sum(len(part[0]) for part in parts) >= size:
            joined = tuple(torch.cat(column) for column in zip(*parts, strict=True))
            yield _formed(form, tuple(column[:size] for column in joined))
            rest = tuple(column[size:] for column in joined)
            parts = [rest] if len(rest[0]) else []
    if parts and not getattr(dataset, "rebatched_drop_last", True):
        yield _formed(form, tuple(torch.cat(column) for column in zip(*parts, strict=True)))


def _tensors(batch: Any) -> tuple[torch.Tensor, ...]:
    """The tensors of a batch. Raises TypeError for what is no flat container of tensors."""
    values = batch.values() if isinstance(batch, dict) else (batch,) if isinstance(batch, torch.Tensor) else batch
    tensors = tuple(values)
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"Tensor at index {index} is not a torch tensor ({type(tensor).__name__}). AsynchronousDataAccessor "
                "expects data to be organised as a flat 1D container of tensors."
            )
    return tensors


def _formed(form: Any, tensors: tuple[torch.Tensor, ...]) -> Any:
    if isinstance(form, torch.Tensor):
        return tensors[0]
    if isinstance(form, dict):
        return dict(zip(form, tensors, strict=True))
    return list(tensors)
