"""Mutated profiles: of speedscope, sampled and with events, and .cpuprofile files.

A changed digit is another weight, and moves all that follows, so the rule is what adds up. The text is read again by
Python's own reader: where that refuses it, so must ours; where all of it was read without a word, the spans of each
frame last as long together as the samples that hold it, or as its ends lie behind its begins."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.clock import set_clock
from popvision.formats.foreign_traces.importing import read_recording
from tests.formats.foreign_mutations.text_changes import CHANGES

_FRAMES = 6


def _sampled(rng: random.Random) -> dict[str, Any]:
    stacks = [[rng.randrange(_FRAMES) for _ in range(rng.randrange(4))] for _ in range(12)]
    weights = [rng.choice([1, 2.5, rng.randrange(1, 100)]) for _ in stacks]
    return _speedscope({"type": "sampled", "samples": stacks, "weights": weights})


def _evented(rng: random.Random) -> dict[str, Any]:
    events: list[dict[str, Any]] = []
    stack: list[int] = []
    for time in range(0, 240, 10):
        if stack and rng.random() < 0.5:
            events.append({"type": "C", "frame": stack.pop(), "at": time})
        else:
            stack.append(rng.randrange(_FRAMES))
            events.append({"type": "O", "frame": stack[-1], "at": time})
    events += [{"type": "C", "frame": frame, "at": 500} for frame in reversed(stack)]
    return _speedscope({"type": "evented", "events": events})


def _speedscope(profile: dict[str, Any]) -> dict[str, Any]:
    profile |= {"name": "p", "unit": "microseconds", "startValue": 0, "endValue": 500}
    frames = [{"name": f"f{frame}", "line": frame} for frame in range(_FRAMES)]
    schema = "https://www.speedscope.app/file-format-schema.json"
    return {"$schema": schema, "shared": {"frames": frames}, "profiles": [profile]}


def _cpuprofile(rng: random.Random) -> dict[str, Any]:
    nodes: list[dict[str, Any]] = [
        {"id": node, "callFrame": {"functionName": f"f{node}" if node > 1 else "(root)", "lineNumber": node}}
        for node in range(1, 9)
    ]
    for node in nodes[1:]:
        nodes[rng.randrange(node["id"] - 1)].setdefault("children", []).append(node["id"])
    samples = [rng.randrange(1, 9) for _ in range(20)]
    deltas = [rng.randrange(1, 50) for _ in samples]
    return {"nodes": nodes, "startTime": 1000, "endTime": 9000, "samples": samples, "timeDeltas": deltas}


_DOCUMENTS: list[tuple[str, Callable[[random.Random], dict[str, Any]]]] = [
    ("speedscope.json", _sampled),
    ("speedscope.json", _evented),
    ("t.cpuprofile", _cpuprofile),
]


def mutation(number: int) -> tuple[str, str]:
    """A file's name and its mutated text."""
    rng = random.Random(number)
    name, make = rng.choice(_DOCUMENTS)
    text = json.dumps(make(rng))
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        place = rng.randrange(len(text))
        if rng.random() < 0.5:  # most changes leave no JSON: here a digit for a digit
            places = [at for at in range(len(text)) if text[at].isdigit()]
            place = rng.choice(places)
            text = text[:place] + rng.choice("0123456789") + text[place + 1 :]
        else:
            text, _, _ = rng.choice(CHANGES)(text, place, rng)
    return name, text


def sums(document: Any) -> Counter[str]:
    """Label -> nanoseconds of all its spans together, by the plainest reading of a document without flaws."""
    if "nodes" in document:
        return _sums_of_nodes(document)
    names = [str(frame.get("name") or "(anonymous)") for frame in document["shared"]["frames"]]
    total: Counter[str] = Counter()
    for profile in document["profiles"]:
        for stack, weight in zip(profile.get("samples", ()), profile.get("weights", ()), strict=False):
            for frame in stack:
                total[names[frame]] += round(1000 * weight)
        for event in profile.get("events", ()):
            total[names[event["frame"]]] += round(1000 * event["at"]) * (1 if event["type"] == "C" else -1)
    return total


def _sums_of_nodes(document: Any) -> Counter[str]:
    frames = {node["id"]: node.get("callFrame", node) for node in document["nodes"]}
    names = {id: frame.get("functionName") or "(anonymous)" for id, frame in frames.items()}
    above = {child: node["id"] for node in document["nodes"] for child in node.get("children", ())}
    total: Counter[str] = Counter()
    for node, length in _held_nodes(document):
        while node is not None:
            if names[node] != "(root)":
                total[names[node]] += 1000 * length
            node = above.get(node)
    return total


def _held_nodes(document: Any) -> Iterator[tuple[Any, int]]:
    """The node of each sample and how long it holds, in microseconds."""
    times, time = [], document.get("startTime", 0)
    for delta, node in zip(document["timeDeltas"], document["samples"], strict=False):
        time += delta
        times.append((time, node))
    times.sort(key=lambda pair: pair[0])
    end = document.get("endTime", 0)
    for (time, node), (after, _) in pairwise(times):
        yield node, after - time
    last, node = times[-1]
    yield node, end - last if end > last else max((last - document.get("startTime", 0)) // len(times), 0)


def wrong(number: int, folder: Path) -> list[str]:
    """What is quietly wrong after a mutation."""
    name, text = mutation(number)
    path = folder / name
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        document = json.loads(path.read_bytes().decode("utf-8", "replace"))
    except ValueError:
        document = None
    try:
        recording = read_recording(path)
    except FormatError as refusal:
        return ["a refusal of several lines"] * ("\n" in str(refusal))
    if document is None or recording.producer == "Chrome trace events":
        is_said = bool(recording.problem or recording.left_out)
        return [f"{recording.producer} was read from no JSON"] * (document is None and not is_said)
    set_clock(recording)
    recording.finish_spans()
    if recording.left_out or recording.not_read or recording.repaired or recording.problem:
        return []
    lasting: Counter[str] = Counter()
    for track in recording.tracks.values():
        for begin, end, site in zip(track.begin, track.end, track.site, strict=True):
            lasting[recording.keys[site][1]] += end - begin
    try:
        expected = sums(document)
    except (TypeError, LookupError, ValueError, AttributeError) as flaw:
        return [f"a flaw that nothing was said of: {flaw!r}"]
    return [
        f"{label} lasts {lasting[label]} ns, not {expected[label]}"
        for label in lasting.keys() | expected.keys()
        if lasting[label] != expected[label]
    ]
