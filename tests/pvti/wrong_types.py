"""Calls every public function of pvti with values of wrong types, and prints what each call says."""

from __future__ import annotations

import itertools
import json
import sys

from popvision import pvti

channel = pvti.createTraceChannel("c")
graph = pvti.Graph("g")
series = graph.addSeries("s")
heatmaps = [kind("h", [0, 1, 2]) for kind in (pvti.HeatmapDouble, pvti.HeatmapFloat, pvti.HeatmapInt)]


class Traced:
    """Has a method to instrument."""

    def work(self) -> int:
        return 1


def function() -> int:
    return 1


#: Values that are right for some argument and wrong for others, by name.
VALUES = {
    "None": None,
    "3": 3,
    "2.5": 2.5,
    "text": "text",
    "bytes": b"\0\1",
    "list": [],
    "strings": ["nope"],
    "mixed": [1, None],
    "edges": [0.0, 1.0],
    "circle": (lambda values: values.append(values) or values)([]),
    "keys": {(1, 2): 3},
    "object": object,
    "channel": channel,
    "function": function,
    "graph": graph,
}

#: Callables of pvti, each with the values that are right.
CALLS = {
    "Tracepoint": (pvti.Tracepoint, [channel, "x", None]),
    "Tracepoint.begin": (pvti.Tracepoint.begin, [channel, "x", None]),
    "Tracepoint.end": (pvti.Tracepoint.end, [channel, "x"]),
    "Tracepoint.event": (pvti.Tracepoint.event, [channel, "x", None]),
    "createTraceChannel": (pvti.createTraceChannel, ["d"]),
    "channel": (pvti.channel, ["d"]),
    "enableTraceChannel": (pvti.enableTraceChannel, [channel]),
    "disableTraceChannel": (pvti.disableTraceChannel, [channel]),
    "checkTraceChannel": (pvti.checkTraceChannel, [channel]),
    "createJsonMetadata": (pvti.createJsonMetadata, ["{}"]),
    "ThreadName": (pvti.ThreadName, ["t"]),
    "setTraceMetadata": (pvti.setTraceMetadata, ["k", "v"]),
    "Flow": (pvti.Flow, ["f"]),
    "Graph": (pvti.Graph, ["g", "", True]),
    "Graph.addSeries": (graph.addSeries, ["s"]),
    "Series": (pvti.Series, [graph, "s"]),
    "Series.add": (series.add, [1.0, None]),
    "HeatmapDouble": (pvti.HeatmapDouble, ["h", [0, 1], ""]),
    "HeatmapFloat": (pvti.HeatmapFloat, ["h", [0, 1], ""]),
    "HeatmapInt": (pvti.HeatmapInt, ["h", [0, 1], ""]),
    "HeatmapDouble.add": (heatmaps[0].add, [[1]]),
    "HeatmapFloat.add": (heatmaps[1].add, [[1]]),
    "HeatmapInt.add": (heatmaps[2].add, [[1]]),
    "decodeHeatmapData": (pvti.decodeHeatmapData, [b""]),
    "instrument_fn": (pvti.instrument_fn, [channel]),
    "instrument_fn()": (pvti.instrument_fn(channel), [function]),
    "instrument": (pvti.instrument, [Traced(), ["work"], channel]),
}


def said(call: object, arguments: list[object]) -> str:
    """The error of a call, "" without one."""
    try:
        call(*arguments)  # type: ignore[operator]
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return ""


answers = {}
for (name, (call, right)), (what, value) in itertools.product(CALLS.items(), VALUES.items()):
    for place in range(len(right)):
        answers[f"{name} {place} {what}"] = said(call, [*right[:place], value, *right[place + 1 :]])
for place in range(3):
    answers[f"built-in {place}"] = said(
        pvti.instrument, [[[], (), 3][place], ["__len__", "__hash__"][place > 1 :], channel]
    )
print(json.dumps(answers))
pvti.closeTrace()
names = sorted({name.partition(".")[0].partition("(")[0] for name in CALLS})
print(json.dumps(sorted(set(pvti.__all__) - set(names))), file=sys.stderr)
