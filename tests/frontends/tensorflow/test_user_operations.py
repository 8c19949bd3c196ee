"""Custom operations: functions in a Python file or a C++ library, their gradients, and what may be cached of them."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from simulator.frontends.lowering.tensorflow.cpp_operations import UserOperationError
from simulator.frontends.tensorflow import system
from simulator.frontends.tensorflow.capture.function import capture_function
from simulator.frontends.tensorflow.configuration.enumerations import DeviceConnectionType
from simulator.frontends.tensorflow.configuration.ipu_config import IPUConfig, reset_ipu_configuration
from simulator.frontends.tensorflow.user_operations import precompiled_user_op
from simulator.poplar import poplar_error

VALUES = np.array([1, 2, 3, 4], np.float32)
LIBRARY = '''

from simulator.poplar.program import Sequence
from simulator.poplibs import popops


def Build(graph, inputs, outputs, attributes, debugContext):
    """inputs[0] * attributes + inputs[1]"""
    program = Sequence()
    product = popops.mul(graph, inputs[0], float(attributes or 1), program, debugContext)
    outputs.append(popops.add(graph, product, inputs[1], program, debugContext))
    return program


def Build_grad(graph, input_grad_index, gradients, fwd_inputs, fwd_outputs, outputs, attributes, debugContext):
    """All gradients, or that of one input where `attributes` begins with "one"."""
    program = Sequence()
    one, factor = attributes.startswith("one"), float(attributes.removeprefix("one"))
    given = [popops.mul(graph, gradients[0], number, program, debugContext) for number in (factor, 1.0)]
    outputs.extend([given[input_grad_index]] if one else given)
    return program


def Squares(graph, inputs, outputs, attributes, debugContext):
    program = Sequence()
    outputs.append(popops.mul(graph, inputs[0], inputs[0], program, debugContext))
    return program


def Squares_grad(graph, input_grad_index, gradients, fwd_inputs, fwd_outputs, outputs, attributes, debugContext):
    """2 * square / number"""
    program = Sequence()
    ratio = popops.div(graph, fwd_outputs[0], fwd_inputs[0], program, debugContext)
    slope = popops.mul(graph, ratio, 2.0, program, debugContext)
    outputs.append(popops.mul(graph, gradients[0], slope, program, debugContext))
    return program


def Squares_metadata(num_inputs):
    return {"is_hashable": num_inputs == 1}


def Nothing(graph, inputs, outputs, attributes, debugContext):
    return Sequence()


def NoProgram(graph, inputs, outputs, attributes, debugContext):
    outputs.append(inputs[0])
'''


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("POPVISION_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setenv("POPVISION_TILES", "4")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    monkeypatch.setenv("TF_POPLAR_FLAGS", f"--executable_cache_path={tmp_path / 'cache'}")
    path = tmp_path / f"operations_{tmp_path.name}.py"
    path.write_text(LIBRARY)
    yield str(path)
    reset_ipu_configuration()


def configure(kind: str = "ALWAYS") -> None:
    config = IPUConfig()
    config.device_connection.type = DeviceConnectionType[kind]
    config.device_connection.version = "ipu2"
    config.configure_ipu_system()


def operation(library: str, *inputs: Any, **options: Any) -> Any:
    outs = {"output_types": [tf.float32], "output_shapes": [tf.TensorShape([4])]}
    [result] = precompiled_user_op(list(inputs), library, outs=outs, **options)
    return result


def run(function: Any, *values: Any) -> list[list[float]]:
    specifications = [tf.TensorSpec([4], tf.float32) for _ in values]
    captured = capture_function(tf.function(function, autograph=False).get_concrete_function(*specifications))
    shapes = [(4,) for _ in captured.dtypes]
    return [one.tolist() for one in system.CompiledFunction(captured, shapes).run(list(values))]


def test_an_operation_builds_into_the_graph(library: str) -> None:
    configure()
    [result] = run(lambda x, y: operation(library, x, y * y, attributes="3") - 1.0, VALUES, VALUES)
    assert result == (3 * VALUES + VALUES * VALUES - 1).tolist()


@pytest.mark.parametrize("separate", [False, True])
def test_its_gradient_is_the_function_of_the_file(library: str, separate: bool) -> None:
    configure()

    def slopes(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            attributes = "one3" if separate else "3"
            result = operation(
                library, x, y, attributes="3", gradient_attributes=attributes, separate_gradients=separate
            )
            loss = tf.reduce_sum(result * result)
        return tape.gradient(loss, [x, y])

    result = 3 * VALUES + VALUES
    assert run(slopes, VALUES, VALUES) == [(2 * result * 3).tolist(), (2 * result).tolist()]


def test_a_gradient_gets_the_inputs_before_the_results(library: str) -> None:
    configure()

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(operation(library, x, op_name="Squares"))
        return [tape.gradient(loss, x)]

    assert run(slope, VALUES) == [(2 * VALUES).tolist()]


def test_an_operation_that_is_not_hashable_is_not_cached(
    library: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    configure()
    run(lambda x: operation(library, x, x), VALUES)
    text = (
        "Executable caching has been enabled, however the program being compiled contains custom user operations which "
        "cannot be safely serialized. If it is safe to pre-compile these custom user operations, please set the "
        "'is_hashable' attribute to 'true' in the operations metadata function."
    )
    assert capfd.readouterr().err.count(text) == 1
    assert not list(tmp_path.glob("cache/*.poplar_exec"))
    run(lambda x: operation(library, x, op_name="Squares"), VALUES)
    assert text not in capfd.readouterr().err
    assert len(list(tmp_path.glob("cache/*.poplar_exec"))) == 1


def test_only_hashable_operations_are_precompiled(library: str, tmp_path: Path) -> None:
    configure("PRE_COMPILE")
    refusal = (
        r"^IPU devices have been configured for pre-compilation, however the program contains custom user operation "
        r"Build of .* which cannot be safely pre-compiled\. If it is safe to pre-compile these Custom User operations, "
        r"please set the 'is_hashable' attribute to 'true' in the operations metadata function\."
    )
    with pytest.raises(tf.errors.FailedPreconditionError, match=refusal):
        run(lambda x: operation(library, x, x), VALUES)
    with pytest.raises(tf.errors.FailedPreconditionError, match=refusal):
        run(lambda x: tf.cond(x[0] > 0, lambda: operation(library, x, x), lambda: x), VALUES)
    assert run(lambda x: operation(library, x, op_name="Squares"), VALUES) == [[0, 0, 0, 0]]
    assert len(list(tmp_path.glob("cache/*.poplar_exec"))) == 1
    Path(library).write_text(LIBRARY + "\n# another file\n")
    run(lambda x: operation(library, x, op_name="Squares"), VALUES)
    assert len(list(tmp_path.glob("cache/*.poplar_exec"))) == 2, "the file is part of the key"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Missing", "has no function 'Missing'"),
        ("Nothing", "made the outputs none, where float[4] were announced"),
        ("NoProgram", "returned None; return the program that it built"),
    ],
)
def test_wrong_operations_are_refused_by_one_sentence(library: str, name: str, sentence: str) -> None:
    configure()
    with pytest.raises(poplar_error) as raised:
        run(lambda x: operation(library, x, op_name=name), VALUES)
    assert sentence in str(raised.value)


def test_libraries_that_cannot_be_loaded_are_refused(tmp_path: Path) -> None:
    for path, sentence in (
        ("libadd.so", "libadd.so cannot be loaded"),
        ("add.txt", "neither a Python file"),
        ("missing.py", "There is no"),
    ):
        with pytest.raises(UserOperationError, match=sentence):
            precompiled_user_op([VALUES], str(tmp_path / path))


def test_codelets_that_are_missing_are_refused(library: str, tmp_path: Path) -> None:
    with pytest.raises(UserOperationError, match=r"none\.cpp of a custom operation cannot be read"):
        precompiled_user_op([VALUES, VALUES], library, gp_path=str(tmp_path / "none.cpp"))


def test_an_operation_runs_on_the_ipu_only(library: str) -> None:
    with pytest.raises(tf.errors.UnknownError, match="runs on the IPU only"):
        tf.function(lambda x: operation(library, x, x))(tf.constant(VALUES))


def test_other_calls_of_the_host_are_refused() -> None:
    with pytest.raises(poplar_error, match="calls Python on the host, which cannot be lowered to the IPU"):
        run(lambda x: tf.ensure_shape(tf.numpy_function(np.sin, [x], tf.float32), [4]), VALUES)


# ---- C++ libraries, which need `make cpp` and g++ ----

ROOT = Path(__file__).resolve().parents[3]
LIBRARIES = ROOT / "build" / "cpp" / "lib"
CPP_LIBRARY = """
#include <map>
#include <stdexcept>
#include <vector>

#include <poplar/Graph.hpp>
#include <popops/ElementWise.hpp>

using poplar::Tensor;
using Tensors = std::vector<Tensor>;

extern "C" {

int32_t custom_op_api_level = 5;

poplar::program::Program Build(poplar::Graph &graph, const Tensors &inputs, Tensors &outputs,
                               const std::string &attributes, const std::string &debug_prefix) {
  poplar::program::Sequence prog;
  if (attributes == "refuse")
    throw std::runtime_error("not these inputs");
  Tensor factor = graph.addConstant<float>(poplar::FLOAT, {}, std::stof(attributes));
  graph.setTileMapping(factor, 0);
  outputs.push_back(popops::mul(graph, inputs[0], factor, prog, debug_prefix));
  return prog;
}

poplar::program::Program Build_grad(poplar::Graph &graph, int, const Tensors &gradients, const Tensors &fwd_inputs,
                                    const Tensors &fwd_outputs, Tensors &outputs, const std::string &,
                                    const std::string &debug_prefix) {
  poplar::program::Sequence prog;
  Tensor ratio = popops::div(graph, fwd_outputs[0], fwd_inputs[0], prog, debug_prefix);
  outputs.push_back(popops::mul(graph, gradients[0], ratio, prog, debug_prefix));
  return prog;
}

void Build_metadata(std::vector<std::int64_t> &, std::vector<std::int64_t> &, std::map<std::int64_t, std::int64_t> &,
                    bool &, bool &, bool &is_hashable, std::uint32_t num_inputs) {
  is_hashable = num_inputs == 1;
}

}
"""


@pytest.fixture(scope="module")
def cpp_library(tmp_path_factory: pytest.TempPathFactory) -> str:
    if not (LIBRARIES / "libpoplar.so").exists() or shutil.which("g++") is None:
        pytest.skip("needs the libraries of C++ programs: make cpp")
    folder = tmp_path_factory.mktemp("library")
    (folder / "operation.cpp").write_text(CPP_LIBRARY)
    includes = [f"-I{ROOT / 'native' / 'include'}", f"-I{ROOT / 'simulator' / 'codelets' / 'include'}"]
    linked = [f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-lpoplar", "-lpopops"]
    command = ["g++", "-std=c++14", "-shared", "-fPIC", *includes, "operation.cpp", *linked, "-o", "operation.so"]
    subprocess.run(command, cwd=folder, check=True)
    return str(folder / "operation.so")


def test_an_operation_and_its_gradient_are_functions_of_a_library(cpp_library: str) -> None:
    configure()
    assert run(lambda x: operation(cpp_library, x, attributes="3"), VALUES) == [(3 * VALUES).tolist()]

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(operation(cpp_library, x, attributes="3"))
        return tape.gradient(loss, x)

    assert run(slope, VALUES) == [[3.0] * 4]


def test_an_exception_of_the_library_is_one_sentence(cpp_library: str) -> None:
    configure()
    with pytest.raises(poplar_error, match=r"Build of .* failed: not these inputs"):
        run(lambda x: operation(cpp_library, x, attributes="refuse"), VALUES)
    with pytest.raises(UserOperationError, match="has no function 'Other'"):
        precompiled_user_op([np.zeros(4, np.float32)], cpp_library, op_name="Other")
