"""Filters of events against a loop over every event, and regular expressions that are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popvision.analysis.trace.columns import HostTrace
from popvision.analysis.trace.event_filter import EventFilter, event_matcher, parse_filter
from popvision.analysis.trace.joint import join_traces
from popvision.analysis.trace.search import find_event, list_matches
from tests.analysis.trace.trace_case import JournalRow, Span, journal_rows, journal_trace, make_trace, nested_spans


def test_words_of_a_filter() -> None:
    assert parse_filter("wait for it") == EventFilter("wait for it")
    assert parse_filter("load dur>1.5us channel:io meta:batch") == EventFilter("load", "", "io", "batch", 1500.0)
    assert parse_filter("/^a.*b$/ dur<2ms") == EventFilter("", "^a.*b$", "", "", None, 2e6)
    assert parse_filter("a/b/c") == EventFilter("a/b/c")  # slashes inside a word are part of the label
    assert parse_filter("the dur of dur") == EventFilter("the dur of dur")
    assert not parse_filter("")
    assert not EventFilter(exact=True)


@pytest.mark.parametrize("text", ["dur>foo", "dur > 3", "dur>5", "load dur<10hours", "dur>10us dur<", "dur>=3us"])
def test_a_duration_without_number_or_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no condition: dur needs < or >, a number and a unit"):
        parse_filter(text)


@pytest.mark.parametrize("text", ["channel:", "channel: io", "load meta: batch", "meta:x channel:"])
def test_a_channel_or_metadata_without_a_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(channel|meta): is no condition: it needs a text, without a blank"):
        parse_filter(text)


def test_a_colon_inside_a_label_is_part_of_it() -> None:
    assert parse_filter("mychannel: io") == EventFilter("mychannel: io")
    assert parse_filter("Epoch:2") == EventFilter("Epoch:2")


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)", "(a{1000}){1000}", "a[", "(", "*"])
def test_what_is_no_regular_expression_of_the_page_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"/{pattern}/ is not a regular expression that this page takes: ")):
        parse_filter(f"/{pattern}/")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "a*a*a*a*b", "(a*){9}b"])
def test_an_expression_that_python_would_match_for_years_reads_a_long_label_to_its_end(
    tmp_path: Path, pattern: str
) -> None:
    long = [(0, 0, 1, f"a/{'a' * 5000}!"), (0, 2, 3, f"a/{'a' * 5000}{'b' * ('b' in pattern)}")]
    source = make_trace(tmp_path / "a.pvti", long)
    hit = find_event(source, f"/{pattern}/", (0, -1, -2, -1))
    assert hit is not None
    assert (hit.position, hit.matches) == (1, 1)


def slow(source: HostTrace, wanted: EventFilter) -> list[tuple[int, int, int]]:
    rows = []
    for number, thread in enumerate(source.threads):
        columns = [(-1, thread.instant_name, thread.instant_site, None)]
        columns += [(depth, lane.name, lane.site, lane.duration) for depth, lane in enumerate(thread.lanes)]
        for depth, names, sites, durations in columns:
            for position, name in enumerate(names.tolist()):
                label, channel = source.names.label[name], source.names.channel_name[source.names.channel[name]]
                metadata = source.metadata(number, int(sites[position])) or ""
                duration = None if durations is None else int(durations[position])
                holds = wanted.label.lower() in label.lower() and wanted.channel.lower() in channel.lower()
                holds &= not wanted.pattern or re.search(wanted.pattern, label, re.IGNORECASE) is not None
                holds &= not wanted.metadata or wanted.metadata.lower() in metadata.lower()
                for limit, sign in ((wanted.longer, 1), (wanted.shorter, -1)):
                    holds &= limit is None or (duration is not None and sign * duration > sign * limit)
                if holds:
                    rows.append((number, depth, position))
    return rows


FILTERS = [
    "x",
    "/^[xz]$/",
    "channel:b",
    "dur>10ns",
    "dur<7ns",
    "x dur>3ns dur<30ns",
    "/y|z/ channel:a",
    "meta:BATCH",
    "meta:3 x",
    "meta:none",
]


@given(nested_spans(), journal_rows(), st.sampled_from(FILTERS))
def test_events_are_those_of_the_loop(tmp_path: Path, spans: list[Span], rows: list[JournalRow], text: str) -> None:
    parts = [make_trace(tmp_path / "a.pvti", spans), journal_trace(tmp_path / "b.pvti", rows)]
    for source in (*parts, join_traces(parts)):
        expected = slow(source, parse_filter(text))
        found = list_matches(source, text, source.begin, source.end + 1, 10_000)
        places = zip(found.thread.tolist(), found.depth.tolist(), found.position.tolist(), strict=True)
        assert sorted(places) == sorted(expected)
        hit = find_event(source, text, (source.begin, -1, -2, -1))
        assert (hit.matches if hit else 0) == len(expected)
        matcher = event_matcher(source, parse_filter(text))
        for number, thread in enumerate(source.threads):
            for depth in range(-1, len(thread.lanes)):
                wanted = [position for thread_, depth_, position in expected if (thread_, depth_) == (number, depth)]
                assert matcher.mask(number, depth).nonzero()[0].tolist() == wanted
