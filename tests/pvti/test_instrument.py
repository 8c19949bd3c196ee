"""`instrument` and `instrument_fn`."""

from __future__ import annotations

from pathlib import Path

from tests.pvti.traced import only_trace, run, tree

CLASS = """
class Data:
    def __init__(self): self.items = [1, 2, 3]
    def __getitem__(self, i): return self.items[i]
    def __len__(self): return len(self.items)
    def __call__(self): return self.load()
    def load(self): return sum(self.items)
    @staticmethod
    def fixed(x): return x + 1
    @classmethod
    def made(cls): return cls()
"""


def events_of(code: str, folder: Path) -> object:
    run(CLASS + code, folder)
    reader = only_trace(folder)
    return tree(reader, reader.threads()[0].id)


def test_dunder_methods_of_one_instance(tmp_path: Path) -> None:
    code = """
data, other = Data(), Data()
assert pvti.instrument(data, ["__getitem__", "__len__", "__call__", "load"], channel) is data
assert (data[1], len(data), data()) == (2, 3, 6)
assert (other[1], len(other), other()) == (2, 3, 6)
assert isinstance(data, Data) and type(data).__name__ == "Data" and type(other) is Data
"""
    name = "__main__.Data."
    expected = [(name + "__getitem__", []), (name + "__len__", []), (name + "__call__", [(name + "load", [])])]
    assert events_of(code, tmp_path) == expected


def test_instrumenting_again_does_not_stack_and_changes_the_channel(tmp_path: Path) -> None:
    code = """
second = pvti.createTraceChannel("second")
data = Data()
for _ in range(3):
    pvti.instrument(data, ("load",), channel)
pvti.instrument(data, ["load"], second)
pvti.instrument(data, ["fixed"], channel)
data.load(); data.fixed(1)
"""
    assert events_of(code, tmp_path) == [("__main__.Data.load", []), ("__main__.Data.fixed", [])]
    reader = only_trace(tmp_path)
    names = reader.names
    by_label = {label: names.channel_name[channel] for label, channel in zip(names.label, names.channel, strict=True)}
    assert by_label == {"__main__.Data.load": "second", "__main__.Data.fixed": "work"}


def test_instances_survive_pickling_and_copying(tmp_path: Path) -> None:
    code = """
import copy, pickle
data = pvti.instrument(Data(), ["load"], channel)
for each in (pickle.loads(pickle.dumps(data)), copy.copy(data), copy.deepcopy(data)):
    assert each.items == [1, 2, 3] and each.load() == 6
"""
    assert events_of(code, tmp_path) == [("__main__.Data.load", [])] * 3


def test_static_class_and_instance_functions(tmp_path: Path) -> None:
    code = """
data = Data()
data.own = lambda: 5
pvti.instrument(pvti.instrument(data, ["own"], channel), ["own", "fixed", "made"], channel)
assert data.own() == 5 and data.fixed(1) == 2 and isinstance(data.made(), Data)
"""
    assert events_of(code, tmp_path) == [(f"__main__.Data.{name}", []) for name in ("own", "fixed", "made")]


def test_functions_exceptions_and_coroutines(tmp_path: Path) -> None:
    code = """
import asyncio
import popvision.pvti.recorder as recorder
now = [10**9]
recorder.perf_counter_ns = lambda: now[0]
@pvti.instrument_fn(channel)
def fails(x, *, y): raise KeyError(x + y)
@pvti.instrument_fn(channel)
async def waits():
    await asyncio.sleep(0)
    now[0] += 20_000_000
    return 3
try:
    fails(1, y=2)
except KeyError as error:
    assert error.args == (3,)
assert fails.__name__ == "fails"
assert asyncio.run(waits()) == 3
"""
    assert events_of(code, tmp_path) == [("__main__.fails", []), ("__main__.waits", [])]
    reader = only_trace(tmp_path)
    assert reader.events(reader.threads()[0].id).lanes[0].duration[1] == 20_000_000


def test_errors_name_the_thing(tmp_path: Path) -> None:
    code = """
for wrong in (lambda: pvti.instrument(Data(), ["lod"], channel), lambda: pvti.instrument([1], ["append"], channel)):
    try:
        wrong()
    except (AttributeError, TypeError) as error:
        print(type(error).__name__, error)
with pvti.Tracepoint(channel, "x"): pass
"""
    done = run(CLASS + code, tmp_path)
    first, second = done.stdout.splitlines()
    assert first.startswith("AttributeError Data has no method 'lod'")
    assert second.startswith("TypeError an object of type list cannot be instrumented")
