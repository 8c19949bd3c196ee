"""poptorch.DataLoader: a torch DataLoader whose batches have what one call of the model takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.utils.data

from simulator.frontends.poptorch.data.data_accessor import AsynchronousDataAccessor
from simulator.frontends.poptorch.enums import DataLoaderMode
from simulator.frontends.poptorch.errors import OptionError
from simulator.frontends.poptorch.host_inputs import input_groups
from simulator.frontends.poptorch.logging import logger
from simulator.frontends.poptorch.option_group import checked_count
from simulator.frontends.poptorch.options import Options
from simulator.frontends.poptorch.profiling import Channel


class DataLoader(torch.utils.data.DataLoader):
    """Freezes the options. A batch holds `combinedBatchSize` elements: the micro-batch for every device iteration,
    group of replicas and accumulation. Among several processes each reads a share of its own."""

    def __init__(
        self,
        options: Options,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        num_workers: int = 0,
        drop_last: bool = True,
        persistent_workers: bool | None = None,
        auto_distributed_partitioning: bool = True,
        mode: DataLoaderMode = DataLoaderMode.Sync,
        async_options: Mapping[str, Any] | None = None,
        rebatched_worker_size: int | None = None,
        batch_sampler: Any = None,
        **kwargs: Any,
    ) -> None:
        """Raises OptionError for options of another type, for sizes that cannot be, and for an iterable data set that
        should be partitioned."""
        self._accessor: AsynchronousDataAccessor | None = None
        if not isinstance(options, Options):
            raise OptionError(f"poptorch.DataLoader takes poptorch.Options first, not {type(options).__name__}.")
        if not isinstance(mode, DataLoaderMode):
            raise OptionError(f"poptorch.DataLoader's mode is a poptorch.DataLoaderMode, not {mode!r}.")
        options.freeze()
        self._options, self.rebatched_drop_last = options, drop_last
        self._combined_batch_size = None if batch_sampler is not None else _combined(options, batch_size)
        self._shuffles_share = False
        self._is_iterable = isinstance(dataset, torch.utils.data.IterableDataset)
        if self._is_iterable:
            self._check_iterable(auto_distributed_partitioning, num_workers, kwargs)
        else:
            self._warn_of_leftovers(len(dataset), drop_last)
            if options.Distributed.numProcesses > 1 and auto_distributed_partitioning:
                dataset = self._share(dataset, bool(shuffle), drop_last)
                self._shuffles_share, shuffle = bool(shuffle), False
            if hasattr(dataset, "__dict__"):
                dataset = Channel("dataset").instrument(dataset, "__getitem__")
        size, rebatched_size = self._sizes(mode, rebatched_worker_size)
        if rebatched_size is not None:
            drop_last = False
        batches: dict[str, Any] = {"batch_size": size, "shuffle": shuffle, "drop_last": drop_last and size is not None}
        if batch_sampler is not None:
            batches = {"batch_sampler": batch_sampler}
        workers = num_workers > 0 if persistent_workers is None else persistent_workers
        super().__init__(dataset, num_workers=num_workers, persistent_workers=workers, **batches, **kwargs)
        if mode is not DataLoaderMode.Sync:
            if "rebatched_size" in (async_options or {}):
                raise OptionError("rebatched_size is no async option of a DataLoader; use mode=AsyncRebatched.")
            self._accessor = AsynchronousDataAccessor(self, **(async_options or {}), rebatched_size=rebatched_size)

    @property
    def combinedBatchSize(self) -> int | None:
        """Elements that one call of the model takes; None where a sampler makes the batches."""
        return self._combined_batch_size

    @property
    def options(self) -> Options:
        """The options, frozen."""
        return self._options

    @property
    def is_asynchronous(self) -> bool:
        """Whether another process loads the data."""
        return self._accessor is not None

    def terminate(self) -> None:
        """End the process that loads data; nothing happens in Sync mode."""
        if self.__dict__.get("_accessor") is not None:
            self._accessor.terminate()  # type: ignore[union-attr]

    def __len__(self) -> int:
        if self._accessor is None or not self._accessor.rebatched_size:
            return int(super().__len__())
        full, rest = divmod(len(self.dataset), self._accessor.rebatched_size)
        return full + bool(rest and not self.rebatched_drop_last)

    def __iter__(self) -> Iterator[Any]:
        if self._shuffles_share:
            self.dataset.shuffle()
        if self._accessor is not None:
            return iter(self._accessor)
        return Channel("poptorch.DataLoader").instrument(super().__iter__(), "__next__")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_accessor": None, "_iterator": None}

    def __del__(self) -> None:
        self.terminate()

    def _sizes(self, mode: DataLoaderMode, worker_size: int | None) -> tuple[int | None, int | None]:
        """Elements of a worker's batch, and of what the accessor puts together (None: the same)."""
        combined = self._combined_batch_size
        if worker_size is not None:
            checked_count("rebatched_worker_size", worker_size)
            if mode is not DataLoaderMode.AsyncRebatched:
                raise OptionError("rebatched_worker_size needs mode=poptorch.DataLoaderMode.AsyncRebatched.")
        if mode is not DataLoaderMode.AsyncRebatched:
            return combined, None
        if combined is None:
            raise OptionError("DataLoaderMode.AsyncRebatched needs a batch_size.")
        if worker_size is not None and worker_size > combined:
            raise OptionError(
                f"The rebatched_worker_size ({worker_size}) must be <= to the combined batch size ({combined})"
            )
        return worker_size or combined, combined

    def _check_iterable(self, partitions: bool, num_workers: int, kwargs: Mapping[str, Any]) -> None:
        if partitions and self._options.Distributed.numProcesses > 1:
            raise OptionError("auto_distributed_partitioning not supported for IterableDataset")
        if num_workers > 1 and "worker_init_fn" not in kwargs:
            logger.warning(
                "IterableDataset used with num_workers=%d but no worker_init_fn specified: as a result the DataLoader "
                "will return %d times each element in the dataset (See torch.utils.data.IterableDataset's "
                "documentation for more information)",
                num_workers,
                num_workers,
            )

    def _warn_of_leftovers(self, elements: int, drop_last: bool) -> None:
        if self._combined_batch_size is None or drop_last:
            return
        step = self._combined_batch_size * self._options.Distributed.numProcesses
        if elements % step:
            logger.warning(
                "The number of elements in the dataset (%d) is not divisible by the number of elements processed per "
                "step (%d) and drop_last=False. The last tensor will have a batch size of %d. To avoid having to "
                "handle this special case switch to drop_last=True",
                elements,
                step,
                elements % step,
            )

    def _share(self, dataset: Any, shuffle: bool, drop_last: bool) -> Share:
        if shuffle and not self._options.exists("random_seed"):
            raise OptionError(
                "When using auto_distributed_partitioning you must set poptorch.Options.randomSeed() to ensure that "
                "tensors are in the same order in all processes."
            )
        if self._combined_batch_size is None:
            raise OptionError("batch_size=None not allowed when using auto_distributed_partitioning.")
        seed = self._options.random_seed if shuffle else None
        distributed = self._options.Distributed
        step = self._combined_batch_size if drop_last else None
        return Share(dataset, distributed.processId, distributed.numProcesses, step, seed)


class Share(torch.utils.data.Dataset):
    """The elements of a data set that one process reads: a block of all, or of a permutation that all processes draw
    alike. With a `step` every process has the same number of whole steps, and the elements left over move from the
    end to the beginning from one permutation to the next."""

    def __init__(self, dataset: Any, process: int, processes: int, step: int | None, seed: int | None) -> None:
        self._dataset, self._epoch = dataset, 0
        self._order: Any = None
        self._generator = torch.Generator()
        if seed is not None:
            self._generator.manual_seed(seed)
        elements = len(dataset)
        if step is None:
            sizes = [elements // processes + (elements % processes > other) for other in range(processes)]
            self._start, self._length, self._left_over = sum(sizes[:process]), sizes[process], 0
        else:
            self._length = elements // (step * processes) * step
            self._start, self._left_over = process * self._length, elements - self._length * processes

    def shuffle(self) -> None:
        """Draw the next permutation; workers see it."""
        drawn = torch.randperm(len(self._dataset), generator=self._generator)
        if self._order is None:
            self._order = drawn.share_memory_()
        else:
            self._order.copy_(drawn)
        self._epoch += 1

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < self._length:
            raise IndexError(f"Element {index} of {self._length}.")
        if self._order is None:
            return self._dataset[self._start + index]
        moved = self._left_over if self._epoch % 2 == 0 else 0
        return self._dataset[int(self._order[self._start + moved + index])]


def _combined(options: Options, batch_size: int | None) -> int | None:
    if batch_size is None:
        return None
    groups = max(input_groups(options)) + 1
    steps = int(options.device_iterations) * groups * int(options.Training.gradient_accumulation)
    return checked_count("DataLoader's batch_size", batch_size) * steps
