"""Mutated traces of other tools, and whether anybody is told another thing than the truth.

These files have no checksums: a changed digit is another time, and nobody can know. So the rule is that of each event:
one that no change has touched has the times and the arguments that it had, or is missing or marked as unfinished, and
then something is said. The ends of Perfetto's slices have no names: where a packet is lost, which is said, a slice may
be closed by the end of another one on its track. Profiles are judged by what their times add up to
(foreign_mutations/profiles.py). Mutation number n is drawn with n as its seed. `python -m tests.formats.mutated_traces`
tries all that are left of 100,000, and goes on where the last run ended, as long as no reader has changed."""

from __future__ import annotations

import gzip
import json
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from popvision.analysis.trace.source import TraceSource
from popvision.formats.errors import FormatError
from popvision.formats.foreign_traces.clock import set_clock
from popvision.formats.foreign_traces.importing import import_trace, read_recording
from tests.formats.foreign_mutations import perfetto, profiles
from tests.formats.foreign_mutations.text_changes import CHANGES
from tests.kept_progress import progress_path, read_progress, write_progress

#: Mutations before a release, and those after which the progress is noted.
MOST, SHARE = 100_000, 500

EVENTS = 30

#: The duration of a span that is marked as unfinished.
UNFINISHED = -1

#: Label -> begin, duration (ns) and arguments of its spans.
Told = dict[str, list[tuple[int, int, str | None]]]


@dataclass(frozen=True)
class Mutation:
    """A file, which of its events a change has touched, and whether the change lies among the events alone."""

    data: bytes
    touched: frozenset[int]
    is_among_events: bool


def event_texts(event: int, rng: random.Random) -> list[str]:
    """An event as X, or as begin and end; times with a fraction, integers beyond a float's."""
    begin, number = 1000 * event, rng.choice([event, 2**53 + 1 + event, 2**66 + event])
    common = f'"pid": 1, "tid": {1 + event % 3}, "name": "a{event}"'
    arguments = f'"args": {{"n": {number}}}'
    if event % 3:
        return [f'{{"ph": "X", "ts": {begin}.125, "dur": 8.5, {common}, {arguments}}}']
    return [
        f'{{"ph": "B", "ts": {begin}.125, {common}, {arguments}}}',
        f'{{"ph": "E", "ts": {begin + 8}.625, {common}}}',
    ]


def mutation(number: int) -> Mutation:
    """The mutation with that number."""
    if is_perfetto(number):
        return Mutation(*perfetto.mutation(number), is_among_events=True)
    rng = random.Random(number)
    texts = [(event, text) for event in range(EVENTS) for text in event_texts(event, rng)]
    if rng.random() < 0.5:
        rng.shuffle(texts)  # times decide, not places
    head, between, foot = rng.choice(
        [("[", ",\n", "]"), ('{"traceEvents": [', ", ", "]}"), ("", "\n", "\n"), ("[\n", ",\n", "")]
    )
    file_text, places = head, []
    for row, (event, text) in enumerate(texts):
        begin = len(file_text)
        file_text += text + (between if row < len(texts) - 1 else "")
        places.append((event, begin, begin + len(text)))
    end = len(file_text)
    file_text += foot
    touched: set[int] = set()
    is_among_events = True
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        place = rng.randrange(len(file_text))
        file_text, removed, added = rng.choice(CHANGES)(file_text, place, rng)
        is_among_events &= len(head) < place and place + removed < end
        touched |= {
            event
            for event, begin, last in places
            if begin - len(between) <= place + removed and place <= last + len(between)
        }
        places = [
            (event, begin + (added - removed) * (begin > place), last + (added - removed) * (last > place))
            for event, begin, last in places
        ]
        end += added - removed
    return Mutation(file_text.encode("utf-8", "surrogatepass"), frozenset(touched), is_among_events)


def is_perfetto(number: int) -> bool:
    """Whether it is that of a Perfetto trace."""
    return number % 5 == 3


def is_profile(number: int) -> bool:
    """Whether it is that of a profile."""
    return number % 5 == 4


def truth(number: int) -> Told:
    """What a sound file says."""
    if is_perfetto(number):
        return perfetto.truth(number)
    rng = random.Random(number)
    told: Told = {}
    for event in range(EVENTS):
        (first, *_) = event_texts(event, rng)
        told[f"a{event}"] = [(10**6 * event + 125, 8_500, json.dumps(json.loads(first)["args"]))]
    return told


def read(path: Path) -> tuple[Told, bool]:
    """What is read of a file, and whether something is said about the rest. Raises FormatError."""
    recording = read_recording(path)
    set_clock(recording)
    recording.finish_spans()
    told: Told = {}
    for track in recording.tracks.values():
        unfinished = set(track.unfinished)
        for at, (begin, end, site) in enumerate(zip(track.begin, track.end, track.site, strict=True)):
            _, label, metadata = recording.keys[site]
            duration = UNFINISHED if at in unfinished else end - begin
            told.setdefault(label, []).append((begin, duration, metadata))
    return told, bool(recording.left_out or recording.not_read or recording.problem or recording.is_open)


def read_imported(path: Path) -> tuple[Told, bool]:
    """The same through a .pvti."""
    target = path.with_suffix(".pvti")
    target.unlink(missing_ok=True)
    import_trace(path, target)
    source = TraceSource(target)
    told: Told = {}
    for number, thread in enumerate(source.threads):
        for depth, lane in enumerate(thread.lanes):
            columns = (lane.start.tolist(), lane.duration.tolist(), lane.name.tolist(), lane.site.tolist())
            for at, (begin, length, name, site) in enumerate(zip(*columns, strict=True)):
                duration = UNFINISHED if (depth, at) in thread.unfinished else length
                told.setdefault(source.names.label[name], []).append((begin, duration, source.metadata(number, site)))
    return told, bool(source.lost) or source.files[0].state == "recording"


def wrong(number: int, folder: Path) -> list[str]:
    """What is quietly wrong after a mutation; a file that is refused is none."""
    if is_profile(number):
        return profiles.wrong(number, folder)
    mutated, path = mutation(number), folder / ("t.pftrace" if is_perfetto(number) else "t.json")
    path.write_bytes(gzip.compress(mutated.data, 1) if number % 7 == 0 else mutated.data)
    try:
        told, is_said = (read_imported if number % 25 == 0 else read)(path)
    except FormatError as refusal:
        return ["a refusal of several lines"] * ("\n" in str(refusal))
    if not mutated.is_among_events:
        return []
    problems = []
    spans_of = {label: spans[0] for label, spans in truth(number).items()}
    touched_begins = {span[0] for label, span in spans_of.items() if int(label[1:]) in mutated.touched}
    for label, span in spans_of.items():
        if int(label[1:]) in mutated.touched:
            continue
        # Without those of touched events that a change gave this name.
        told_spans = [entry for entry in told.get(label, []) if entry[0] not in touched_begins]
        if not told_spans:
            problems += [f"{label} is missing without a word"] * (not is_said)
        elif is_perfetto(number) and is_said and any(begin == span[0] for begin, *_ in told_spans):
            continue
        elif span not in told_spans and not (is_said and (span[0], UNFINISHED, span[2]) in told_spans):
            problems.append(f"{label} is {told_spans}, not {span}")
    return problems


def try_all(progress: Path, most: int = MOST) -> list[str]:
    """Tries what is left, and prints what is wrong with the number that makes it again."""
    state = {"done": 0, "wrong": []} | read_progress(progress)
    with tempfile.TemporaryDirectory() as folder:
        while state["done"] < most:
            first, last = state["done"], min(most, state["done"] + SHARE)
            for number in range(first, last):
                try:
                    problems = wrong(number, Path(folder))
                except Exception as crash:
                    problems = [f"ended with {crash!r}"]
                state["wrong"] += [f"mutation {number}: {problem}" for problem in problems]
            state["done"] = last
            write_progress(progress, state)
    print(f"{state['done']:,} mutated traces, {len(state['wrong'])} quietly wrong")
    return list(state["wrong"])


def kept_progress() -> Path:
    """The file of the sources as they are."""
    tests = ("tests/formats/mutated_traces.py", "tests/formats/foreign_mutations/*.py")
    return progress_path("mutated traces", "popvision/formats/foreign_traces/*.py", *tests)


if __name__ == "__main__":
    problems = try_all(kept_progress())
    print(*problems, sep="\n")
    sys.exit(1 if problems else 0)
