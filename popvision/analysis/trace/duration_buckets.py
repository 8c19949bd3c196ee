"""Equi-depth buckets of the durations of each label: exact order statistics of any window without sorted events.

The buckets of a label partition its durations; their edges are quantiles of a sample of 262,144 events, so that each
holds about as many. Every event knows its bucket: 2 bytes an event, all that is kept. A window is counted by bucket in
one pass, which tells the bucket of each percentile; a second pass sorts the events of these few buckets alone. A
duration that fills several quantiles has a bucket of its own, which needs no second pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from popvision.analysis.trace.columns import HostTrace, Lane
from popvision.arrays import AnyArray, BoolArray, Int64Array, UnsignedArray

_SAMPLE = 1 << 18
_BUCKETS = 1 << 16  #: of all labels, unless there are more labels than a quarter of it
_FEWEST = 8  #: sampled events of a bucket
_CHUNK = 1 << 18  #: events looked at in one step
_SORTED_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class DurationBuckets:
    """Buckets in the order of labels, then durations. `of_event` is in the order of threads, lanes and positions, the
    lane number i of which begins at `lane_begin[i]`; the buckets of label n are [first[n], first[n + 1]); `low` is the
    shortest duration of a bucket in ns, and the only one where `single`."""

    of_event: UnsignedArray
    lane_begin: list[int]
    first: Int64Array
    low: Int64Array
    single: BoolArray

    def __len__(self) -> int:
        return len(self.low)

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        return sum(column.nbytes for column in (self.of_event, self.first, self.low, self.single))


def lanes_of(source: HostTrace) -> list[Lane]:
    """All lanes, in the order of threads and depths."""
    return [lane for thread in source.threads for lane in thread.lanes]


def duration_buckets(source: HostTrace) -> DurationBuckets:
    """The buckets of a trace, made at the first question and kept with it."""
    return source.kept.once("duration buckets", lambda: _make_buckets(lanes_of(source), len(source.names)))


def _make_buckets(lanes: Sequence[Lane], names: int) -> DurationBuckets:
    bits = 63 - names.bit_length()  # for durations beside the label; longer ones share the last bucket of their label
    edges = _edges(np.sort(_sample(lanes, bits)), names, bits)
    low = edges & ((1 << bits) - 1)
    single = np.diff(edges, append=edges[-1] if len(edges) else 0) == 1
    single &= low < (1 << bits) - 1
    begins = np.cumsum([0, *map(len, lanes)]).tolist()
    of_event = np.zeros(begins[-1], np.min_scalar_type(max(0, len(edges) - 1)))
    for begin, lane in zip(begins, lanes, strict=False):
        for at in range(0, len(lane), _CHUNK):
            keys = _keys(lane, slice(at, at + _CHUNK), bits)
            order = np.argsort(keys)  # a search for ascending keys goes through the edges once
            of_event[begin + at + order] = np.searchsorted(edges, keys[order], "right") - 1
    first = np.searchsorted(edges, np.arange(names + 1, dtype=np.int64) << bits)
    return DurationBuckets(of_event, begins, first, low, single)


def _keys(lane: Lane, part: slice, bits: int) -> Int64Array:
    """Label and duration of events as one number."""
    keys = lane.name[part].astype(np.int64)
    keys <<= bits
    keys |= np.minimum(lane.duration[part].astype(np.int64), (1 << bits) - 1)
    return keys


def _sample(lanes: Sequence[Lane], bits: int) -> Int64Array:
    """Keys of one event in each stretch of equal length; at a place chosen at random, because programs repeat."""
    stride = -(-sum(map(len, lanes)) // _SAMPLE) or 1
    random = np.random.default_rng(1)
    parts = [np.zeros(0, np.int64)]
    for lane in lanes:
        at = np.arange(0, len(lane), stride)
        rows = np.minimum(at + random.integers(0, stride, len(at)), len(lane) - 1)
        part = Lane(lane.start[rows], lane.duration[rows], lane.site[rows], lane.name[rows], lane.parent[rows])
        parts.append(_keys(part, slice(None), bits))
    return np.concatenate(parts)


def _edges(sample: Int64Array, names: int, bits: int) -> Int64Array:
    """Lowest keys of the buckets: of each label 0 and quantiles of its sample, which is sorted. A quantile that repeats
    gets a second edge just above it."""
    base = np.arange(names + 1, dtype=np.int64) << bits
    begin = np.searchsorted(sample, base)
    count = np.diff(begin)
    most = (max(_BUCKETS, 4 * names) - names) // 2
    share = count * most // max(1, len(sample))
    quantiles = np.maximum(1, np.minimum(share, count // _FEWEST))
    owner = np.repeat(np.arange(names), quantiles - 1)
    number = 1 + np.arange(len(owner)) - np.repeat(np.cumsum(quantiles - 1) - (quantiles - 1), quantiles - 1)
    cuts = sample[begin[owner] + number * count[owner] // quantiles[owner]]
    repeated = cuts[1:][cuts[1:] == cuts[:-1]]
    return np.unique(np.concatenate([base[:-1], cuts, repeated + 1]))


@dataclass(frozen=True, eq=False)
class BucketedWindow:
    """Events of a window: `runs` has (lane number, first, last) of each lane, `count` the events of each bucket."""

    buckets: DurationBuckets
    lanes: Sequence[Lane]
    runs: Sequence[tuple[int, int, int]]
    count: Int64Array

    def by_name(self) -> Int64Array:
        """Events of each label."""
        until = np.concatenate([[0], np.cumsum(self.count)])
        return np.asarray(np.diff(until[self.buckets.first]))

    def at_ranks(self, names: Int64Array, ranks: Int64Array) -> Int64Array:
        """The duration of a rank (0 is the shortest) among the events of a label, for pairs of both."""
        until = np.cumsum(self.count)
        before = (until - self.count)[self.buckets.first[names]]
        bucket = np.searchsorted(until, before + ranks, "right")
        inside = before + ranks - (until - self.count)[bucket]
        found = self.buckets.low[bucket].copy()
        for chosen, begin, durations in self._sorted(bucket):
            found[chosen] = durations[begin[bucket[chosen]] + inside[chosen]]
        return found

    def below(self, names: Int64Array, durations: Int64Array) -> Int64Array:
        """How many events of a label are shorter than a duration, for pairs of both."""
        until = np.concatenate([[0], np.cumsum(self.count)])
        bucket = self._bucket_of(names, durations)
        shorter = until[bucket] - until[self.buckets.first[names]]
        above_single = self.buckets.single[bucket] & (durations > self.buckets.low[bucket])
        shorter += np.where(above_single, self.count[bucket], 0)
        for chosen, begin, held in self._sorted(bucket):
            for place in chosen.tolist():
                first = begin[bucket[place]]
                own = held[first : first + self.count[bucket[place]]]
                shorter[place] += np.searchsorted(own, durations[place], "left")
        return np.asarray(shorter)

    def _bucket_of(self, names: Int64Array, durations: Int64Array) -> Int64Array:
        """The bucket in which a duration of a label lies."""
        first, last = self.buckets.first[names], self.buckets.first[names + 1]
        low = self.buckets.low
        while (last - first > 1).any():  # all pairs at once, one halving of the buckets of their label each turn
            middle = (first + last) // 2
            is_above = (last - first > 1) & (low[np.minimum(middle, len(low) - 1)] <= durations)
            first, last = np.where(is_above, middle, first), np.where(is_above, last, np.maximum(middle, first + 1))
        return np.asarray(first)

    def _sorted(self, bucket: Int64Array) -> Iterator[tuple[Int64Array, Int64Array, Int64Array]]:
        """For the buckets asked for that hold several durations, some at a time: the places that ask for these, where
        each bucket begins, and the durations bucket by bucket, ascending."""
        asked = np.unique(bucket)
        asked = asked[~self.buckets.single[asked] & (self.count[asked] > 0)]
        group = np.cumsum(self.count[asked]) // _SORTED_AT_ONCE
        begin = np.zeros(len(self.buckets), np.int64)
        for number in np.unique(group):
            part = asked[group == number]
            wanted = np.zeros(len(self.buckets), np.bool_)
            wanted[part] = True
            begin[part] = np.cumsum(self.count[part]) - self.count[part]
            yield np.flatnonzero(wanted[bucket]), begin, _sorted_within(*self._events_of(wanted))

    def _events_of(self, wanted: BoolArray) -> tuple[AnyArray, Int64Array]:
        """Buckets and durations of the events in some buckets."""
        codes: list[AnyArray] = [np.zeros(0, self.buckets.of_event.dtype)]
        durations: list[AnyArray] = [np.zeros(0, np.uint8)]
        for number, first, last in self.runs:
            begin, lane = self.buckets.lane_begin[number], self.lanes[number]
            for at in range(first, last, _CHUNK):
                own = self.buckets.of_event[begin + at : begin + min(last, at + _CHUNK)]
                rows = np.flatnonzero(wanted.take(own, mode="clip"))
                codes.append(own[rows])
                durations.append(lane.duration[at + rows])
        return np.concatenate(codes), np.concatenate(durations).astype(np.int64)


def _sorted_within(bucket: AnyArray, durations: Int64Array) -> Int64Array:
    """Durations bucket by bucket, ascending."""
    bits = int(durations.max()).bit_length() if len(durations) else 0
    if bits + int(bucket.max(initial=0)).bit_length() > 63:
        return durations[np.lexsort((durations, bucket))]
    keys = bucket.astype(np.int64) << bits | durations  # sorting numbers takes a fifth of the time of sorting by keys
    keys.sort()
    return np.asarray(keys & ((1 << bits) - 1))


def bucketed_window(source: HostTrace, runs: Sequence[tuple[int, int, int]]) -> BucketedWindow:
    """Events [first, last) of some lanes, given as (lane number, first, last). Of a trace that grows they alone get
    buckets, since those of all events would be out of date at once."""
    lanes = lanes_of(source)
    if source.is_growing:
        lanes = [lanes[number].part(first, last) for number, first, last in runs]
        runs = [(number, 0, len(lane)) for number, lane in enumerate(lanes)]
        buckets = _make_buckets(lanes, len(source.names))
    else:
        buckets = duration_buckets(source)
    count = np.zeros(len(buckets), np.int64)
    pending: list[AnyArray] = []
    waiting = 0
    for number, first, last in runs:
        begin = buckets.lane_begin[number]
        for at in range(first, last, _CHUNK):
            pending.append(buckets.of_event[begin + at : begin + min(last, at + _CHUNK)])
            waiting += len(pending[-1])
            if waiting >= _CHUNK:
                count += np.bincount(np.concatenate(pending), minlength=len(buckets))
                pending, waiting = [], 0
    if pending:
        count += np.bincount(np.concatenate(pending), minlength=len(buckets))
    return BucketedWindow(buckets, lanes, runs, count)
