"""JSON texts of a trace's names, made once per name and not once per event."""

from __future__ import annotations

import json

from popvision.analysis.trace.columns import TraceThread
from popvision.analysis.trace.source import TraceSource


def label_texts(source: TraceSource) -> list[str]:
    """The JSON text of each name's label."""
    return [json.dumps(label) for label in source.names.label]


def channel_texts(source: TraceSource) -> list[str]:
    """The JSON text of each name's channel."""
    texts = [json.dumps(name) for name in source.names.channel_name]
    return [texts[channel] for channel in source.names.channel.tolist()]


def thread_name(thread: TraceThread) -> str:
    """The name of a thread; "Thread 17" by its system id when it has none."""
    return thread.row.name or f"Thread {thread.row.tid}"
