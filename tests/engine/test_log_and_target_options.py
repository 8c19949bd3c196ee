"""POPLAR_LOG_LEVEL, POPLAR_LOG_DEST and POPLAR_TARGET_OPTIONS."""

import json
import re

import numpy as np
import pytest

from simulator.base import log, text_output
from simulator.engine.devices.device import Device
from simulator.poplar import Engine, Graph, IPUModel, compileGraph, invalid_option, poplar_error
from simulator.poplar.program import Sequence
from tests.compiler.tiny_graphs import model, tutorial3

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z PO:(\w+) +\d+\.\d+ ([EWIDT]): (.+)")
LEVELS = ("OFF", "ERR", "WARN", "INFO", "DEBUG", "TRACE")
#: a line of each level, as (part, letter, sentence)
EXPECTED = {
    "ERR": ("ENGINE", "E", "poplar_error: There is no program 7; the engine has 1, numbered from 0."),
    "WARN": ("NOTICE", "W", "option profiler.format=v1 has no effect in this version of the simulator."),
    "INFO": ("ENGINE", "I", "began program 0 (training), run 1 of this engine"),
    "DEBUG": ("OPTIONS", "D", "profiler.format is v1"),
    "TRACE": ("ENGINE", "T", "read tensor 'v2'"),
}


@pytest.fixture(autouse=True)
def _new_log(monkeypatch):
    monkeypatch.setattr(log, "_log", None)
    monkeypatch.setattr(text_output, "_printed", set())


def program():
    """Something of each level happens."""
    target = model()
    tutorial = tutorial3(target)
    with Engine(tutorial.graph, tutorial.program, {"profiler.format": "v1"}) as engine:
        engine.load(Device(target))
        engine.run(0, "training")
        engine.readTensor("v2", np.zeros(4, np.float32))
        with pytest.raises(poplar_error, match="no program 7"):
            engine.run(7)


def lines_of(text):
    return [match.groups() for match in map(LINE.fullmatch, text.splitlines()) if match]


@pytest.mark.parametrize("level", [None, "", *LEVELS])
def test_a_level_shows_its_events_and_those_of_all_before_it(level, monkeypatch, capsys):
    if level is not None:
        monkeypatch.setenv("POPLAR_LOG_LEVEL", level)
    program()
    out, err = capsys.readouterr()
    shown = LEVELS[1 : LEVELS.index(level or "OFF") + 1]
    found = lines_of(err)
    assert [name for name in EXPECTED if EXPECTED[name] in found] == list(shown)
    assert {letter for _, letter, _ in found} == {name[0] for name in shown}
    assert out == ""
    assert "popvision: option profiler.format=v1 has no effect" in err


def test_each_destination(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("POPLAR_LOG_LEVEL", "ERR")
    monkeypatch.setenv("HOME", str(tmp_path))
    for destination, read in (
        ("stdout", lambda: capsys.readouterr().out),
        ("stderr", lambda: capsys.readouterr().err),
        ("~/a.log", (tmp_path / "a.log").read_text),
    ):
        monkeypatch.setattr(log, "_log", None)
        monkeypatch.setenv("POPLAR_LOG_DEST", destination)
        program()
        assert lines_of(read()) == [EXPECTED["ERR"]]
    monkeypatch.setattr(log, "_log", None)
    program()
    assert lines_of((tmp_path / "a.log").read_text()) == [EXPECTED["ERR"]] * 2


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"POPLAR_LOG_LEVEL": "LOUD"}, "POPLAR_LOG_LEVEL cannot be 'LOUD'; use OFF, ERR, WARN, INFO, DEBUG, TRACE."),
        ({"POPLAR_LOG_LEVEL": "info"}, "POPLAR_LOG_LEVEL cannot be 'info'; use OFF, ERR, WARN, INFO, DEBUG, TRACE."),
        (
            {"POPLAR_LOG_LEVEL": "ERR", "POPLAR_LOG_DEST": "/no/such/folder/log"},
            "POPLAR_LOG_DEST cannot be '/no/such/folder/log' (No such file or directory); use stdout, stderr or the "
            "path of a file.",
        ),
    ],
)
@pytest.mark.parametrize("call", [lambda: compileGraph(Graph(model()), Sequence()), lambda: Device(model()).attach()])
def test_another_value_is_refused(variables, sentence, call, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(invalid_option) as raised:
        call()
    assert str(raised.value) == sentence


def test_a_destination_that_goes_away_ends_no_program(monkeypatch):
    monkeypatch.setenv("POPLAR_LOG_LEVEL", "TRACE")
    monkeypatch.setenv("POPLAR_LOG_DEST", "/dev/full")
    program()


def values(program_options, monkeypatch, **variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, json.dumps(value))
    engine = Engine(Graph(IPUModel().createDevice()), Sequence(), program_options)
    return engine.executable.options.values["target.deterministicWorkers"]


def test_target_options_win_over_the_program_and_lose_to_engine_options(monkeypatch):
    own = {"target.deterministicWorkers": "true"}
    off = {"target.deterministicWorkers": "false"}
    assert values(own, monkeypatch) == "true"
    assert values(own, monkeypatch, POPLAR_TARGET_OPTIONS=off) == "false"
    assert values({}, monkeypatch, POPLAR_TARGET_OPTIONS=off) == "false"
    assert values(own, monkeypatch, POPLAR_TARGET_OPTIONS=off, POPLAR_ENGINE_OPTIONS=own) == "true"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"autoReport.all": "true"}', r"^POPLAR_TARGET_OPTIONS has 'autoReport\.all' \(value 'true'\), which is no "),
        (
            '{"target.hostSyncTimeout": "1"}',
            r"^POPLAR_TARGET_OPTIONS has 'target\.hostSyncTimeout' .* it takes target\.",
        ),
        ('{"target.extendedMemory": "maybe"}', r"^Option 'target\.extendedMemory' cannot be 'maybe'; "),
        ("target.extendedMemory=true", r"^POPLAR_TARGET_OPTIONS is not valid JSON"),
        ("[]", r"^POPLAR_TARGET_OPTIONS holds '\[\]', which is not a JSON object"),
    ],
)
def test_other_target_options_are_refused(text, sentence, monkeypatch):
    monkeypatch.setenv("POPLAR_TARGET_OPTIONS", text)
    with pytest.raises(invalid_option, match=sentence):
        compileGraph(Graph(model()), Sequence())


@pytest.mark.parametrize("variable", ["POPLAR_ENGINE_OPTIONS", "POPLAR_TARGET_OPTIONS", "POPLAR_RUNTIME_OPTIONS"])
def test_what_a_refusal_suggests_is_accepted(variable, monkeypatch, tmp_path):
    """Each variable takes other options; that of the engine was suggested for all."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, "[]")
    with pytest.raises(invalid_option, match=f"^{variable} holds") as refusal:
        program()
    monkeypatch.setenv(variable, re.search(r"\{.*\}", str(refusal.value))[0])
    program()
