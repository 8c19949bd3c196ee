"""The example program writes a trace with events of every kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.pvti.traced import ROOT, only_trace, tree


def test_the_training_loop_is_traced(tmp_path: Path) -> None:
    environment = os.environ | {"PVTI_OPTIONS": json.dumps({"directory": str(tmp_path)}), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "examples" / "host_trace.py"), str(tmp_path)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    reader = only_trace(tmp_path)
    assert done.stdout.splitlines()[-1] == str(reader.path)
    assert "Longest epoch: Epoch:" in done.stdout
    threads = {thread.name: thread.id for thread in reader.threads()}
    assert set(threads) == {"MainThread", "loader"}
    ((train, epochs),) = tree(reader, threads["MainThread"])
    assert train == "train"
    assert [label for label, _ in epochs] == [f"Epoch:{n}" for n in range(6)]
    step = [("__main__.step", [("forward", []), ("backward", []), ("update", [])])]
    assert all(inside == [("wait for batch", []), *step] * 40 for _, inside in epochs)
    assert tree(reader, threads["loader"]) == [("__main__.Digits.__getitem__", [])] * 240
    assert len(reader.events(threads["MainThread"]).instants) == 6
    own = [
        row for row in reader.series() if not row.graph.startswith("Process ")
    ]  # a slow run has automatic series too
    assert [(row.graph, row.name, len(reader.samples(row.id)[0])) for row in own] == [
        ("Loss", "Training", 240),
        ("Accuracy", "Batch", 240),
        ("Accuracy", "Epoch", 6),
    ]
    (heatmap,) = reader.heatmaps()
    times, quantities = reader.heatmap_columns(heatmap)
    assert [thread for _, thread, _ in reader.flow_points()].count(threads["loader"]) == 240
    assert (len(times), set(quantities.sum(axis=1).tolist())) == (240, {64})
