"""Graphcore's guide to caching and pre-compiling executables, sentence by sentence: each is a test that notices when it
stops being true."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from simulator.frontends.tensorflow import log_lines, system
from simulator.frontends.tensorflow.capture.function import capture_function
from simulator.frontends.tensorflow.configuration.enumerations import DeviceConnectionType
from simulator.frontends.tensorflow.configuration.ipu_config import IPUConfig, reset_ipu_configuration
from tests.syntax_trees import syntax_tree

FOLDER = Path(__file__).parent
HERE = Path(__file__).name

SENTENCES = [
    (
        "To prevent the need for compiling the same graphs every time a TensorFlow process is started, you can enable "
        "an executable cache.",
        "test_connection_type.py::test_precompiled_programs_run_later_without_compilation",
    ),
    (
        "To enable it, you can use the option --executable_cache_path to specify a directory where the compiled "
        "executables for TensorFlow graphs will be placed.",
        f"{HERE}::test_the_flag_names_the_directory",
    ),
    (
        "An executable binary file with a file extension .poplar_exec will be saved for each XLA/Poplar graph required "
        "to execute a TensorFlow graph.",
        f"{HERE}::test_each_graph_has_a_file",
    ),
    ("The cache does not manage the files within the directory.", f"{HERE}::test_the_cache_leaves_files_alone"),
    (
        "It is your responsibility to delete files. No index is kept of the files, so they can be deleted without "
        "risk.",
        f"{HERE}::test_a_file_can_be_deleted_without_risk",
    ),
    (
        "If you are using a machine which is not attached to any IPU devices, you can do so by enabling the "
        "pre-compile mode.",
        f"{HERE}::test_no_device_is_attached",
    ),
    (
        "Your TensorFlow program is traced to identify which programs need to be compiled along with which "
        "tf.Variables are used.",
        f"{HERE}::test_variables_of_a_pre_compiled_program_keep_their_values",
    ),
    (
        "Your TensorFlow program is executed as if it was attached to IPU device(s), however any numerical results "
        "returned are set to zero.",
        "test_pre_compiled_keras.py::test_pre_compiled_programs_are_loaded_by_the_run_on_a_device",
    ),
    (
        "If any operations in your TensorFlow program are executed conditionally dependent on the previous output, "
        "they might not be pre-compiled.",
        f"{HERE}::test_programs_that_zeros_do_not_lead_to_are_missed_and_this_is_said",
    ),
    (
        "To enable the pre-compile mode, you need to use the option --executable_cache_path.",
        "test_session_of_processes.py::test_pre_compilation_needs_a_cache_when_it_compiles",
    ),
    (
        "Then in your TensorFlow program you need to modify your IPU system configuration to use the pre-compile mode.",
        "test_connection_type.py::test_precompiled_programs_run_later_without_compilation",
    ),
    (
        "We create an IPU system configuration with pre-compile mode for a single IPU device (IPU version 2) and with "
        "remote buffers enabled, with the rest of the program unchanged.",
        "test_pre_compiled_keras.py::test_pre_compiled_programs_are_loaded_by_the_run_on_a_device",
    ),
    (
        "It is important to check whether the system you are pre-compiling for supports remote buffers.",
        "test_session_of_processes.py::test_remote_buffers_are_part_of_the_key",
    ),
    (
        "Messages will appear with the information about what executables have been compiled and where they have been "
        "saved to: A pre-compiled Poplar program has been saved to /tmp/executables/277a08fe4c20b50.poplar_exec",
        f"{HERE}::test_a_message_has_the_path_of_each_program",
    ),
    (
        "You can copy all the executables to a machine with IPUs, and should set --executable_cache_path to the "
        "directory where they were copied to and then run your TensorFlow program (without enabling the pre-compile "
        "mode).",
        f"{HERE}::test_copied_executables_run_without_compilation",
    ),
    (
        "Custom user operations for which is_hashable has not been set to True cannot be pre-compiled.",
        "test_user_operations.py::test_only_hashable_operations_are_precompiled",
    ),
    (
        "Programs containing tensorflow.python.ipu.scopes.outside_compilation_scope cannot be pre-compiled.",
        "test_outside_compilation.py::test_pre_compilation_refuses_the_scope_also_in_a_branch",
    ),
]


def test_each_sentence_has_a_test_that_is_there() -> None:
    defined = {
        f"{path.name}::{node.name}"
        for path in FOLDER.glob("test_*.py")
        for node in ast.walk(syntax_tree(path))
        if isinstance(node, ast.FunctionDef)
    }
    assert [test for _, test in SENTENCES if test not in defined] == []


def configure(kind: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"--executable_cache_path={cache}")
    reset_ipu_configuration()
    config = IPUConfig()
    config.auto_select_ipus = 1
    config.device_connection.type = DeviceConnectionType[kind]
    config.device_connection.version = "ipu2"
    config.device_connection.enable_remote_buffers = True
    config.configure_ipu_system()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is not there yet, and a system that pre-compiles into it."""
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setenv("POPVISION_TILES", "4")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    monkeypatch.setattr(log_lines, "_said", set())
    configure("PRE_COMPILE", tmp_path / "executables", monkeypatch)
    yield tmp_path / "executables"
    reset_ipu_configuration()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each compilation."""
    seen: list[str] = []
    original = system.compileGraph

    def compile_graph(*arguments: Any) -> Any:
        seen.append("compiled")
        return original(*arguments)

    monkeypatch.setattr(system, "compileGraph", compile_graph)
    return seen


def plus(number: float, value: float = 1.0) -> list[float]:
    """[value, value] plus a number, by a program of its own."""
    concrete = tf.function(lambda x: x + number).get_concrete_function(tf.TensorSpec([2], tf.float32))
    function = system.CompiledFunction(capture_function(concrete), [(2,)])
    result: list[float] = function.run([np.full(2, value, np.float32)])[0].tolist()
    return result


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.poplar_exec"))


def test_the_flag_names_the_directory(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plus(1)
    configure("PRE_COMPILE", tmp_path / "other", monkeypatch)
    plus(1)
    assert len(files(cache)) == len(files(tmp_path / "other")) == 1
    assert files(cache)[0].name == files(tmp_path / "other")[0].name


def test_each_graph_has_a_file(cache: Path) -> None:
    for number, files_after in ((1, 1), (2, 2), (1, 2)):
        plus(number)
        assert len(files(cache)) == files_after


def test_the_cache_leaves_files_alone(cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "0123456789abcdef.poplar_exec").write_bytes(b"another program's")
    (cache / "notes.txt").write_text("the user's")
    for number in range(3):
        plus(number)
    assert (cache / "notes.txt").read_text() == "the user's"
    assert (cache / "0123456789abcdef.poplar_exec").read_bytes() == b"another program's"
    assert len(files(cache)) == 4


def test_a_file_can_be_deleted_without_risk(
    cache: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    plus(1)
    [first] = files(cache)
    plus(2)
    for one in cache.iterdir():
        if one.stem == first.stem:
            one.unlink()
    compiled.clear()
    configure("ALWAYS", cache, monkeypatch)
    capfd.readouterr()
    assert plus(2) == [3, 3]
    assert compiled == []
    assert plus(1) == [2, 2]
    assert compiled == ["compiled"]
    assert len(files(cache)) == 2
    assert ": W " not in capfd.readouterr().err


def test_no_device_is_attached(cache: Path) -> None:
    plus(1)
    assert system.current().connection.attached is None


def test_variables_of_a_pre_compiled_program_keep_their_values(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = tf.Variable([3.0, 4.0])

    @tf.function
    def raised() -> Any:
        count.assign_add([1.0, 1.0])
        return count * 2.0

    function = system.CompiledFunction(capture_function(raised.get_concrete_function()), [(2,)])
    assert function.run([])[0].tolist() == [0, 0]
    assert count.numpy().tolist() == [3, 4]
    configure("ALWAYS", cache, monkeypatch)
    assert function.run([])[0].tolist() == [8, 10]
    assert count.numpy().tolist() == [4, 5]
    assert len(files(cache)) == 1, "the program of the pre-compilation"


def test_programs_that_zeros_do_not_lead_to_are_missed_and_this_is_said(
    cache: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    says = "so the results of programs are zeros; a program that only other results lead to is not pre-compiled."

    def program() -> list[float]:
        return plus(5) if plus(1)[0] > 0 else plus(7)

    assert program() == [0, 0]
    assert capfd.readouterr().err.count(says) == 1, "once, not for each program"
    assert len(files(cache)) == 2
    compiled.clear()
    configure("ALWAYS", cache, monkeypatch)
    assert program() == [6, 6]
    assert compiled == ["compiled"], "plus(5) was missed"
    assert says not in capfd.readouterr().err


def test_a_message_has_the_path_of_each_program(cache: Path, capfd: pytest.CaptureFixture[str]) -> None:
    says = "A pre-compiled Poplar program has been saved to "
    for number in (1, 2, 1):
        plus(number)
    lines = [one for one in capfd.readouterr().err.splitlines() if says in one]
    assert sorted(Path(one.rpartition(says)[2]) for one in lines) == files(cache)


def test_copied_executables_run_without_compilation(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    assert plus(1) == plus(2) == [0, 0]
    there = tmp_path / "there"
    there.mkdir()
    for one in files(cache):
        shutil.copy(one, there)
    shutil.rmtree(cache)
    compiled.clear()
    configure("ALWAYS", there, monkeypatch)
    assert (plus(1), plus(2)) == ([2, 2], [3, 3])
    assert compiled == []
    assert not cache.exists()
