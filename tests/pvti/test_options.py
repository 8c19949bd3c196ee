"""PVTI_OPTIONS, and the cost of tracing when it is off."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from popvision.pvti.options import Options, parse
from tests.pvti.traced import ROOT, only_trace, run, traces, tree

EVENT = "with pvti.Tracepoint(channel, 'x'):\n    pass\n"


def test_the_file_is_named_after_date_and_process(tmp_path: Path) -> None:
    done = run(EVENT + "import os\nprint(os.getpid())\n", tmp_path, options='{"enable": "true"}')
    name = only_trace(tmp_path).path.name
    assert re.fullmatch(rf"\w{{3}}_\w{{3}}_\d\d_\d\d:\d\d:\d\d_\d{{4}}_\w+_{done.stdout.strip()}\.pvti", name)


def test_with_source_date_epoch_the_second_is_that_one_and_the_run_id_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1600000000")
    ids = []
    for name in ("one", "other"):
        run(EVENT + "print(pvti.runId())\n", tmp_path, options=json.dumps({"directory": name}))
        trace = only_trace(tmp_path / name)
        assert trace.path.name.startswith("Sun_Sep_13_12:26:40_2020_UTC_")
        ids.append(trace.meta["run_id"])
    assert ids[0] == ids[1]
    assert len(ids[0]) == 32
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    run(EVENT, tmp_path, options='{"directory": "further"}')
    assert only_trace(tmp_path / "further").meta["run_id"] != ids[0]


def test_the_folder_is_made(tmp_path: Path) -> None:
    run(EVENT, tmp_path, options=json.dumps({"enable": True, "directory": "deep/below"}))
    assert len(list((tmp_path / "deep" / "below").glob("*.pvti"))) == 1


@pytest.mark.parametrize("empty", ["", " \n"])
def test_an_empty_variable_counts_as_not_set(tmp_path: Path, empty: str) -> None:
    done = run(EVENT + "print(pvti.isRecording())\n", tmp_path, options=empty)
    assert (done.stdout, done.stderr) == ("False\n", "")
    assert traces(tmp_path) == []


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    run(EVENT, tmp_path, options='{"directory": "~/traces"}')
    assert len(list((tmp_path / "home" / "traces").glob("*.pvti"))) == 1


@pytest.mark.parametrize("off", ['{"enable": "false"}', '{"enable": false}'])
def test_tracing_can_be_switched_off(tmp_path: Path, off: str) -> None:
    done = run(EVENT + "print(pvti.getCurrentTraceFilename() == '', pvti.isRecording())\n", tmp_path, options=off)
    assert done.stdout == "True False\n"
    assert traces(tmp_path) == []


def test_only_the_channels_named_are_on(tmp_path: Path) -> None:
    code = "other = pvti.createTraceChannel('other')\nwith pvti.Tracepoint(other, 'y'):\n    pass\n" + EVENT
    run(code, tmp_path, options='{"channels": ["work"]}')
    reader = only_trace(tmp_path)
    assert tree(reader, reader.threads()[0].id) == [("x", [])]
    assert dict(reader.channels()) == {
        "Drivers": False,
        "Poplar": False,
        "Framework": False,
        "work": True,
        "other": False,
    }


def test_nothing_is_recorded_after_the_duration(tmp_path: Path) -> None:
    code = """
import time
from tests.waiting import wait_until
now = time.perf_counter_ns
time.perf_counter_ns = lambda: now() + 600 * 10**9  # ten minutes later
wait_until(lambda: not pvti.checkTraceChannel(channel), "the timer has looked")
with pvti.Tracepoint(channel, 'late'):
    pass
"""
    run(EVENT + code, tmp_path, options='{"duration": 300}')
    reader = only_trace(tmp_path)
    assert tree(reader, reader.threads()[0].id) == [("x", [])]
    assert reader.state == "finalised"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "not JSON"),
        ("[1]", "JSON object"),
        ('{"enable": "perhaps"}', "enable"),
        ('{"channels": "work"}', "channels"),
        ('{"duration": -1}', "duration"),
        ('{"dir": "x"}', "unknown option 'dir'"),
    ],
)
def test_what_cannot_be_understood_means_all_defaults_and_one_line(tmp_path: Path, text: str, said: str) -> None:
    done = run(EVENT, tmp_path, options=text)
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
    assert "PVTI_OPTIONS" in done.stderr
    assert len(traces(tmp_path)) == 1


def test_every_option_together() -> None:
    text = '{"enable": "TRUE", "directory": "d", "channels": ["a", "b", "a"], "duration": "2.5"}'
    assert parse(text) == Options(True, "d", frozenset({"a", "b"}), 2.5)


def test_a_folder_that_cannot_be_made_is_one_line_and_no_crash(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(EVENT + "print('done')", tmp_path, options=json.dumps({"directory": str(tmp_path / "file" / "x")}))
    assert done.stdout == "done\n"
    assert len(done.stderr.splitlines()) == 1
    assert "tracing stops here" in done.stderr


def test_without_the_variable_nothing_is_loaded_or_written(tmp_path: Path) -> None:
    code = (
        "import sys, popvision.pvti as pvti\n"
        "c = pvti.createTraceChannel('c')\n"
        "with pvti.Tracepoint(c, 'x'): pass\n"
        "pvti.Tracepoint.event(c, 'x'); pvti.Tracepoint.begin(c, 'x'); pvti.Tracepoint.end(c, 'x')\n"
        "pvti.Graph('g').addSeries('s').add(1); pvti.HeatmapDouble('h', [0, 1]).add([1])\n"
        "class A:\n    def f(self): return 1\n"
        "a = pvti.instrument(A(), ['f'], c); assert type(a) is A\n"
        "def f(): pass\nassert pvti.instrument_fn(c)(f) is f\n"
        "pvti.enableTraceChannel(c); assert not pvti.checkTraceChannel(c)\n"
        "pvti.closeTrace()\n"
        "print([m for m in ('numpy', 'sqlite3', 'json', 'pandas') if m in sys.modules])\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "PVTI_OPTIONS"}
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
    assert list(tmp_path.iterdir()) == []


def test_tracing_itself_loads_no_numpy(tmp_path: Path) -> None:
    done = run(EVENT + "import sys\nprint('numpy' in sys.modules)\n", tmp_path)
    assert done.stdout == "False\n"


def test_a_process_that_records_nothing_leaves_no_file(tmp_path: Path) -> None:
    run("import os\npvti.Graph('g').addSeries('s')\nif os.fork(): os.wait()\n", tmp_path)
    assert list(tmp_path.glob("*.pvti*")) == []
    run("pvti.Graph('g').addSeries('s').add(1)\n", tmp_path)
    assert len(list(tmp_path.glob("*.pvti*"))) == 1
