"""poptorch.DataLoader and AsynchronousDataAccessor: batch sizes, shares among processes, and loading ahead."""

import itertools

import pytest
import torch

from simulator.frontends import poptorch
from simulator.frontends.poptorch.data.data_loader import Share
from tests.waiting import wait_until

FORK = {"sharing_strategy": poptorch.SharingStrategy.Fork}


class Numbers(torch.utils.data.Dataset):
    """Element i is (i, -i)."""

    def __init__(self, length, form=tuple):
        self.length, self.form = length, form

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if index == 13 and self.form == "bad":
            raise ValueError("unlucky")
        pair = torch.tensor(float(index)), torch.tensor(-float(index))
        return {"a": pair[0], "b": pair[1]} if self.form is dict else pair[0] if self.form is torch.Tensor else pair


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter([torch.tensor(1.0), torch.tensor(2.0)])


def joined(lists):
    return list(itertools.chain.from_iterable(lists))


def first(batches):
    return [batch[0].tolist() for batch in batches]


@pytest.fixture
def loaders():
    """Makes loaders and ends their processes."""
    made = []

    def make(kind, *arguments, **named):
        made.append(kind(*arguments, **named))
        return made[-1]

    yield make
    for each in made:
        each.terminate()


def options(**distributed):
    made = poptorch.Options().deviceIterations(3).replicationFactor(4).inputReplicaGrouping(2)
    made.Training.gradientAccumulation(5)
    return made


def test_a_batch_has_what_one_call_takes():
    loader = poptorch.DataLoader(options(), Numbers(200), batch_size=2)
    assert loader.combinedBatchSize == 2 * 3 * (4 // 2) * 5 == 60
    assert len(loader) == 3
    assert [batch[0].shape for batch in loader] == [(60,)] * 3


def test_options_are_frozen_by_a_loader():
    given = poptorch.Options()
    loader = poptorch.DataLoader(given, Numbers(2))
    assert loader.options is given
    with pytest.raises(AttributeError, match="Can't modify frozen Options"):
        given.deviceIterations(2)


def test_no_batch_size_means_single_elements():
    loader = poptorch.DataLoader(poptorch.Options(), Numbers(3), batch_size=None)
    assert loader.combinedBatchSize is None
    assert [pair[0].item() for pair in loader] == [0, 1, 2]


def test_a_sampler_may_make_the_batches():
    sampler = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(range(6)), 2, False)
    loader = poptorch.DataLoader(poptorch.Options(), Numbers(6), batch_sampler=sampler)
    assert first(loader) == [[0, 1], [2, 3], [4, 5]]


def test_a_last_batch_that_differs_is_told(capsys):
    loader = poptorch.DataLoader(poptorch.Options(), Numbers(7), batch_size=3, drop_last=False)
    assert [len(batch[0]) for batch in loader] == [3, 3, 1]
    assert "The last tensor will have a batch size of 1" in capsys.readouterr().err


def test_workers_load(capsys):
    loader = poptorch.DataLoader(poptorch.Options(), Numbers(6), batch_size=2, num_workers=1)
    assert first(loader) == [[0, 1], [2, 3], [4, 5]]
    poptorch.DataLoader(poptorch.Options(), Stream(), num_workers=2)
    assert "will return 2 times each element" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"options": None}, "takes poptorch.Options first, not NoneType"),
        ({"batch_size": 0}, "DataLoader's batch_size takes an integer of at least 1, not 0"),
        ({"mode": 1}, "mode is a poptorch.DataLoaderMode, not 1"),
        ({"rebatched_worker_size": 2}, "needs mode=poptorch.DataLoaderMode.AsyncRebatched"),
        (
            {"rebatched_worker_size": 5, "mode": poptorch.DataLoaderMode.AsyncRebatched, "batch_size": 4},
            r"The rebatched_worker_size \(5\) must be <= to the combined batch size \(4\)",
        ),
        (
            {"mode": poptorch.DataLoaderMode.Async, "async_options": {"rebatched_size": 2}},
            "rebatched_size is no async option",
        ),
    ],
)
def test_wrong_arguments_are_refused(arguments, sentence):
    with pytest.raises((AssertionError, ValueError), match=sentence):
        poptorch.DataLoader(**{"options": poptorch.Options(), "dataset": Numbers(8), **arguments})


def test_groups_must_divide_the_replicas():
    with pytest.raises(ValueError, match="size 3 does not divide the replication factor 4"):
        poptorch.DataLoader(poptorch.Options().replicationFactor(4).inputReplicaGrouping(3), Numbers(8))


def shares(elements, processes, step, seed=None):
    return [Share(Numbers(elements), process, processes, step, seed) for process in range(processes)]


def read(share):
    return [share[index][0].item() for index in range(len(share))]


@pytest.mark.parametrize(("elements", "processes", "step"), [(12, 3, 2), (23, 2, 3), (7, 3, 1), (5, 4, 2)])
def test_shares_are_disjoint_and_have_whole_steps(elements, processes, step):
    parts = [read(share) for share in shares(elements, processes, step)]
    assert {len(part) for part in parts} == {elements // (step * processes) * step}
    everything = joined(parts)
    assert len(set(everything)) == len(everything)


def test_without_dropping_shares_cover_everything():
    assert sorted(joined(read(share) for share in shares(11, 4, None))) == list(range(11))
    assert [len(share) for share in shares(11, 4, None)] == [3, 3, 3, 2]


def test_shuffled_shares_agree_and_reach_every_element():
    parts = shares(10, 3, 1, seed=7)
    seen = set()
    for _ in range(2):
        for share in parts:
            share.shuffle()
        epoch = joined(read(share) for share in parts)
        assert len(set(epoch)) == 9
        seen.update(epoch)
    again = shares(10, 3, 1, seed=7)[0]
    again.shuffle()
    again.shuffle()
    assert read(again) == read(parts[0])
    assert len(seen) >= 9


def test_processes_share_a_data_set():
    def loader(process, **named):
        given = poptorch.Options().randomSeed(3)
        given.Distributed.configureProcessId(process, 2)
        return poptorch.DataLoader(given, Numbers(12), batch_size=3, **named)

    assert [first(loader(process)) for process in range(2)] == [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]
    drawn = [joined(first(loader(process, shuffle=True))) for process in range(2)]
    assert sorted(drawn[0] + drawn[1]) == list(range(12))
    assert drawn[0] != sorted(drawn[0])
    assert joined(first(loader(1, auto_distributed_partitioning=False))) == list(range(12))


def test_partitioning_has_conditions():
    given = poptorch.Options()
    given.Distributed.configureProcessId(0, 2)
    with pytest.raises(ValueError, match=r"you must set poptorch.Options.randomSeed"):
        poptorch.DataLoader(given, Numbers(8), shuffle=True)
    with pytest.raises(ValueError, match="batch_size=None not allowed"):
        poptorch.DataLoader(given, Numbers(8), batch_size=None)
    with pytest.raises(ValueError, match="not supported for IterableDataset"):
        poptorch.DataLoader(given, Stream())


@pytest.mark.parametrize("form", [tuple, dict, torch.Tensor])
def test_another_process_loads_the_same_batches(loaders, form):
    def make(mode, **named):
        return loaders(poptorch.DataLoader, poptorch.Options(), Numbers(9, form), batch_size=2, mode=mode, **named)

    expected = list(make(poptorch.DataLoaderMode.Sync))
    for early in (False, True):
        loader = make(poptorch.DataLoaderMode.Async, async_options={**FORK, "early_preload": early})
        assert len(loader) == 4
        for _ in range(3):
            epoch = list(loader)
            assert str(epoch) == str(expected)


def test_every_strategy_brings_the_data_set_over(loaders):
    for strategy in poptorch.SharingStrategy:
        accessor = loaders(
            poptorch.AsynchronousDataAccessor, [torch.ones(2), torch.zeros(2)], sharing_strategy=strategy
        )
        assert [batch.tolist() for batch in accessor] == [[1, 1], [0, 0]]
        accessor.terminate()


@pytest.mark.parametrize("indefinitely", [True, False])
def test_an_iteration_may_begin_before_the_last_has_ended(loaders, indefinitely):
    loader = loaders(
        poptorch.AsynchronousDataAccessor,
        poptorch.DataLoader(poptorch.Options(), Numbers(20), batch_size=2),
        buffer_size=2,
        load_indefinitely=indefinitely,
        **FORK,
    )
    for stop in (1, 4, 7, 3, 10):
        seen = [batch[0][0].item() for batch, _ in zip(loader, range(stop), strict=False)]
        assert seen == list(range(0, 2 * stop, 2))[:10]
    assert len(loader) == len(list(loader)) == 10


def test_the_queue_is_bounded(loaders):
    class Counting(Numbers):
        loaded = torch.zeros(1).share_memory_()

        def __getitem__(self, index):
            self.loaded += 1
            return super().__getitem__(index)

    accessor = loaders(
        poptorch.AsynchronousDataAccessor,
        poptorch.DataLoader(poptorch.Options(), Counting(50)),
        buffer_size=3,
        early_preload=True,
        **FORK,
    )
    batches = iter(accessor)
    for taken in range(30):  # one without a bound would soon be far ahead
        wait_until(lambda taken=taken: Counting.loaded >= 4 + taken, "the queue is filled again")
        assert Counting.loaded == 4 + taken
        next(batches)


@pytest.mark.parametrize(("worker", "drop_last"), [(None, True), (1, True), (3, True), (3, False), (4, False)])
def test_smaller_batches_are_put_together(loaders, worker, drop_last):
    loader = loaders(
        poptorch.DataLoader,
        poptorch.Options().deviceIterations(2),
        Numbers(11),
        batch_size=2,
        drop_last=drop_last,
        mode=poptorch.DataLoaderMode.AsyncRebatched,
        rebatched_worker_size=worker,
        async_options=FORK,
    )
    expected = [[0, 1, 2, 3], [4, 5, 6, 7]] + ([] if drop_last else [[8, 9, 10]])
    assert first(loader) == expected
    assert len(loader) == len(expected)


def test_failures_of_the_process_are_told_in_a_sentence(loaders):
    loader = loaders(
        poptorch.DataLoader,
        poptorch.Options(),
        Numbers(20, "bad"),
        mode=poptorch.DataLoaderMode.Async,
        async_options=FORK,
    )
    with pytest.raises(
        poptorch.Error, match=r"An error occurred in the data fetcher: ValueError: unlucky \(.*\.py:\d+\)"
    ):
        list(loader)
    empty = loaders(poptorch.AsynchronousDataAccessor, [], **FORK)
    with pytest.raises(poptorch.Error, match="The Dataset is empty"):
        next(iter(empty))
    nested = loaders(poptorch.AsynchronousDataAccessor, [(torch.ones(1), [torch.ones(1)])], **FORK)
    with pytest.raises(poptorch.Error, match="Tensor at index 1 is not a torch tensor"):
        next(iter(nested))


def test_a_killed_process_is_noticed(loaders):
    accessor = loaders(poptorch.AsynchronousDataAccessor, [torch.ones(1)] * 5, **FORK)
    next(iter(accessor))
    accessor._process.kill()
    accessor._process.join()
    with pytest.raises(poptorch.Error, match="its process ended with exit code -9"):
        list(accessor)


def test_accessors_have_conditions(loaders):
    loader = loaders(
        poptorch.DataLoader,
        poptorch.Options(),
        Numbers(4),
        mode=poptorch.DataLoaderMode.Async,
        async_options=FORK,
    )
    with pytest.raises(poptorch.Error, match="already uses an AsynchronousDataAccessor"):
        poptorch.AsynchronousDataAccessor(loader)
    with pytest.raises(ValueError, match="only works if 'rebatched_size' is specified too"):
        poptorch.AsynchronousDataAccessor(
            poptorch.DataLoader(poptorch.Options(), Numbers(4), batch_size=2, drop_last=False)
        )
    with pytest.raises(ValueError, match="rebatched_size must be None or greater than 1"):
        poptorch.AsynchronousDataAccessor(Numbers(4), rebatched_size=1)
    with pytest.raises(ValueError, match="buffer_size takes an integer"):
        poptorch.AsynchronousDataAccessor(Numbers(4), buffer_size=0)
    loader.terminate()
    loader.terminate()


def test_an_ended_accessor_says_so(loaders):
    accessor = loaders(poptorch.AsynchronousDataAccessor, [torch.ones(1)] * 5, **FORK)
    accessor.terminate()
    with pytest.raises(poptorch.Error, match="was terminated"):
        iter(accessor)
