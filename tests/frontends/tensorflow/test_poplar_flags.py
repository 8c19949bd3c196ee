"""TF_POPLAR_FLAGS: what is read, what is refused, and what flags do."""

import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from simulator.frontends.session.connection import ConnectionType
from simulator.frontends.tensorflow import system
from simulator.frontends.tensorflow.capture.function import capture_function
from simulator.frontends.tensorflow.configuration.ipu_config import IPUConfig, reset_ipu_configuration
from simulator.frontends.tensorflow.flags import Flags, read_flags
from simulator.poplar import poplar_error

ONES = np.ones(4, np.float32)


@pytest.fixture(autouse=True)
def own_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    yield
    reset_ipu_configuration()


def flags(text: str, **variables: str) -> Flags:
    return read_flags({"TF_POPLAR_FLAGS": text, **variables})


def doubled() -> np.ndarray[Any, Any]:
    """4 twos, if the device gets the ones and gives back their sum."""
    concrete = tf.function(lambda x: x + x).get_concrete_function(tf.TensorSpec([4], tf.float32))
    return system.CompiledFunction(capture_function(concrete), [(4,)]).run([ONES])[0]


def test_flags_are_read_as_a_shell_splits_them() -> None:
    assert flags("") == Flags()
    read = flags(
        "--executable_cache_path='/a b/c' --use_ipu_model --use_on_demand=false\n"
        "--on_demand_device_poll_time=100 --ipu_model_tiles=-1 --show_progress_bar=true"
    )
    assert read == Flags(
        executable_cache_path="/a b/c", use_ipu_model=True, on_demand_device_poll_time=100, show_progress_bar="true"
    )
    assert flags("", POPDIST_EXECUTABLE_CACHE_PATH="d").executable_cache_path == "d"
    assert flags("--executable_cache_path=e", POPDIST_EXECUTABLE_CACHE_PATH="d").executable_cache_path == "e"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("--executable_cache_pth=x", "has no flag '--executable_cache_pth=x' in this simulator; did you mean"),
        ("executable_cache_path=x", "has no flag 'executable_cache_path=x'"),
        ("--zzz", "flags here: --help, --executable_cache_path"),
        (
            "--on_demand_device_poll_time=5",
            "'--on_demand_device_poll_time' has the value '5'; give a whole number from",
        ),
        ("--on_demand_device_timeout=-1", "'--on_demand_device_timeout' has the value '-1'"),
        ("--use_ipu_model=maybe", "'--use_ipu_model' has the value 'maybe'; give 'true' or 'false'"),
        ("--show_progress_bar=yes", "'--show_progress_bar' has the value 'yes'; give 'true', 'false' or 'auto'"),
        ("--executable_cache_path=", "'--executable_cache_path' has the value ''; give a text"),
        ("--executable_cache_path='x", "TF_POPLAR_FLAGS cannot be split into flags"),
    ],
)
def test_wrong_flags_are_refused_by_name(text: str, sentence: str) -> None:
    with pytest.raises(poplar_error) as raised:
        flags(text)
    assert sentence in str(raised.value)


def test_flags_without_effect_are_named() -> None:
    read = flags("--use_on_demand --fallback_scheduler --max_infeed_threads=4")
    assert read.without_effect() == {"fallback_scheduler": "True", "max_infeed_threads": "4"}
    assert read.given() == {"use_on_demand": "True", **read.without_effect()}
    assert all(one.metadata["text"] for one in fields(Flags))


def test_on_demand_takes_the_place_of_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--use_on_demand")
    IPUConfig().configure_ipu_system()
    assert system.current().connection.type is ConnectionType.ON_DEMAND
    assert system.current().connection.attached is None


def test_the_ipu_model_runs_and_is_not_attached(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--use_ipu_model --ipu_model_tiles=8")
    IPUConfig().configure_ipu_system()
    assert system.current().connection.target.getTilesPerIPU() == 8
    assert doubled().tolist() == [2, 2, 2, 2]
    assert "attached to" not in capfd.readouterr().err


def test_help_lists_the_flags(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--help")
    IPUConfig().configure_ipu_system()
    err = capfd.readouterr().err
    assert "Usage for TF_POPLAR_FLAGS is:" in err
    assert all(f"\t--{one.name}: " in err for one in fields(Flags))


@pytest.mark.parametrize(
    ("flag", "on_terminal", "shown"),
    [("true", False, True), ("false", True, False), ("auto", True, True), ("auto", False, False)],
)
def test_the_bar_of_compilation(
    flag: str, on_terminal: bool, shown: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"--show_progress_bar={flag}")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: on_terminal)
    doubled()
    assert ("Graph compilation: 100%" in capsys.readouterr().err) is shown


def test_synthetic_data_leaves_out_transfers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--use_synthetic_data")
    assert doubled().tolist() == [0, 0, 0, 0]


def test_cycles_of_runs_are_logged(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--log_cycle_count=0")
    doubled()
    [line] = [line for line in capfd.readouterr().err.splitlines() if "Total number of IPU cycles: " in line]
    assert int(line.rpartition(" ")[2]) > 100


def test_threads_of_compilation_are_an_engine_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--max_compilation_threads=3")
    IPUConfig().configure_ipu_system()
    assert system.current().engine_options["opt.maxCompilationThreads"] == "3"
