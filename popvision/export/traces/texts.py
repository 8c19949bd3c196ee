"""JSON texts of a trace's names, made once per name and not once per event."""

from __future__ import annotations

import json

from popvision.analysis.trace.columns import HostTrace, TraceThread


def label_texts(source: HostTrace) -> list[str]:
    """The JSON text of each name's label."""
    return [json.dumps(label) for label in source.names.label]


def channel_texts(source: HostTrace) -> list[str]:
    """The JSON text of each name's channel."""
    texts = [json.dumps(name) for name in source.names.channel_name]
    return [texts[channel] for channel in source.names.channel.tolist()]


def thread_name(thread: TraceThread) -> str:
    """The name of a thread; "Thread 17" by its system id when it has none."""
    return thread.row.name or f"Thread {thread.row.tid}"


def thread_names(source: HostTrace) -> list[str]:
    """The name of each thread, after that of its file where the trace has several."""
    names = [thread_name(thread) for thread in source.threads]
    if len(source.files) == 1:
        return names
    return [f"{file.path}: {names[thread]}" for file in source.files for thread in file.threads]
