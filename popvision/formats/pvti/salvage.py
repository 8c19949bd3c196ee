"""What to trust of a damaged trace: rows up to the first damaged one, and events that nest as a writer leaves them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from popvision.formats.integrity import LostPart
from popvision.formats.pvti.checked_tables import DAMAGE
from popvision.formats.pvti.columns import Instants, Slices

T = TypeVar("T")


def until_damage(rows: Iterator[T], what: str, lost: list[LostPart] | None) -> Iterator[T]:
    """Rows up to the first damaged one, about which `lost` gets a sentence; without `lost` its exception is raised."""
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except sqlite3.OperationalError:
            raise  # locked: all of it can be read later
        except DAMAGE as error:
            if lost is None:
                raise
            reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
            lost.append(LostPart("events", f"{what} is left out from the first damage on: {reason}."))
            return
        yield row


def nested_part(lanes: list[Slices], instants: Instants) -> tuple[list[Slices], Instants, bool]:
    """The events that nest: each lane up to its first event that overlaps the one before, begins outside its parent or
    names none, and the instants in time order inside what is left. The last item says whether all do."""
    nested: list[Slices] = []
    for depth, lane in enumerate(lanes):
        if _is_nested(lane, nested[depth - 1] if depth else None):
            nested.append(lane)
            continue
        bad = _overlaps(lane)
        if depth:
            bad |= _strays(lane, nested[depth - 1])
        first = int(bad.argmax()) if bad.any() else len(lane)
        nested.append(Slices(lane.start[:first], lane.duration[:first], lane.site[:first], lane.parent[:first]))
    while nested and not len(nested[-1]):
        nested.pop()
    keep = _inside(instants, nested)
    if not keep.all():
        instants = Instants(instants.time[keep], instants.site[keep], instants.depth[keep], instants.parent[keep])
    intact = bool(keep.all()) and sum(map(len, nested)) == sum(map(len, lanes))
    return nested, instants, intact


def _is_nested(lane: Slices, above: Slices | None) -> bool:
    """Whether all events of a lane do, in a few passes: events of one parent stand together, so that its first and its
    last one tell of all."""
    end, parent = lane.end, lane.parent
    if (end < lane.start).any() or (lane.start[1:] < end[:-1]).any():
        return False
    if above is None or not len(lane):
        return True
    if (parent[1:] < parent[:-1]).any() or parent[-1] >= len(above):
        return False
    change = np.flatnonzero(parent[1:] != parent[:-1])
    first, last = np.append(0, change + 1), np.append(change, len(lane) - 1)
    place = parent[first].astype(np.int64)
    begin = above.start[place]
    inside = (lane.start[first] >= begin) & (lane.start[last] <= begin + above.duration[place].astype(np.int64))
    return bool(inside.all())


def _overlaps(lane: Slices) -> NDArray[np.bool_]:
    """Events that end before they begin or begin before the one before has ended."""
    end = lane.end
    bad = end < lane.start
    bad[1:] |= lane.start[1:] < end[:-1]
    return bad


def _strays(lane: Slices, above: Slices) -> NDArray[np.bool_]:
    """Events whose parent is none of the lane above, lies before the parent of the event before, or does not enclose
    their begin."""
    if not len(above):
        return np.ones(len(lane), np.bool_)
    parent = lane.parent
    bad = parent >= len(above)
    bad[1:] |= parent[1:] < parent[:-1]
    place = np.minimum(parent, len(above) - 1).astype(np.int64)
    bad |= (lane.start < above.start[place]) | (lane.start > above.end[place])
    return bad


def _inside(instants: Instants, lanes: list[Slices]) -> NDArray[np.bool_]:
    """Instants in time order whose enclosing event is there; depth 0 has none."""
    lengths = np.array([1, *map(len, lanes)], np.int64)
    depth = np.minimum(instants.depth, len(lanes)).astype(np.int64)
    keep = (instants.depth <= len(lanes)) & (instants.parent < lengths[depth])
    if len(keep):
        keep &= np.maximum.accumulate(instants.time) == instants.time
    return np.asarray(keep)
