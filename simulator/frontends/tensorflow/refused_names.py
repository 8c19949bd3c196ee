"""Names of `tensorflow.python.ipu` that programs import and that cannot do their work here: each raises one sentence
when it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from simulator.base.errors import poplar_error

_EVENTS = "there are no events to extract; look at the report that POPLAR_ENGINE_OPTIONS asks for (autoReport.all)"
_FILES = "programs take their data from the process itself; write the elements with NumPy"
_WHOLE = "all operators of a program have the same; set {option} of IPUConfig"


def _refused(name: str, reason: str) -> Callable[..., NoReturn]:
    def refuse(*arguments: Any, **named: Any) -> NoReturn:
        raise poplar_error(f"{name} does not work here: {reason}.")

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    return refuse


extract_all_strings_from_event_trace = _refused("utils.extract_all_strings_from_event_trace", _EVENTS)
extract_all_types_from_event_trace = _refused("utils.extract_all_types_from_event_trace", _EVENTS)
extract_all_events = _refused("utils.extract_all_events", _EVENTS)
extract_compile_reports = _refused("utils.extract_compile_reports", _EVENTS)
extract_poplar_serialized_graphs = _refused("utils.extract_poplar_serialized_graphs", _EVENTS)
extract_execute_reports = _refused("utils.extract_execute_reports", _EVENTS)
export_dataset_to_file = _refused("utils.export_dataset_to_file", _FILES)
export_inputs_to_file = _refused("utils.export_inputs_to_file", _FILES)

stochastic_rounding = _refused("scopes.stochastic_rounding", _WHOLE.format(option="floating_point_behaviour.esr"))
partials_type = _refused(
    "scopes.partials_type", _WHOLE.format(option="matmuls.poplar_options and convolutions.poplar_options")
)
frontend_attribute = _refused("scopes.frontend_attribute", "operators have no attributes for the compiler")
ipu_jit_scope = _refused("scopes.ipu_jit_scope", "a program is what ipu_compiler.compile or strategy.run gets")

_ESTIMATOR = (
    "TensorFlow has no estimators since 2.16; train a Keras model in the scope of an IPUStrategy, or a loop by "
    "ipu_compiler.compile, loops.repeat and queues"
)
IPUEstimator = _refused("ipu_estimator.IPUEstimator", _ESTIMATOR)
IPUEstimatorSpec = _refused("ipu_estimator.IPUEstimatorSpec", _ESTIMATOR)
IPUPipelineEstimator = _refused("ipu_pipeline_estimator.IPUPipelineEstimator", _ESTIMATOR)
IPUPipelineEstimatorSpec = _refused("ipu_pipeline_estimator.IPUPipelineEstimatorSpec", _ESTIMATOR)
IPURunConfig = _refused("ipu_run_config.IPURunConfig", _ESTIMATOR)
RunConfig = _refused("ipu_run_config.RunConfig", _ESTIMATOR)
