"""poptorch.Options: defaults, setters, checks, freezing, copies, text forms, and the table of effects."""

import copy
import json
import pickle

import pytest
import torch

from simulator.frontends import poptorch
from simulator.frontends.poptorch.option_group import OptionGroup
from simulator.frontends.poptorch.option_table import OPTIONS, Effect


def every_setter():
    """(full name, bound setter) of new options."""
    options = poptorch.Options()
    for group in (options, *options.groups):
        for name in dir(type(group)):
            if hasattr(getattr(type(group), name), "is_option_setter"):
                yield group.path + name, getattr(group, name)


def test_defaults_are_those_of_poptorch():
    options = poptorch.Options()
    assert options.device_iterations == options.replication_factor == 1
    assert options.Training.gradient_accumulation == 1
    assert options.output_mode == poptorch.OutputMode.Default
    assert options.defaultOutputMode()
    assert options.connection_type == poptorch.ConnectionType.Always == 0
    assert options.Training.accumulation_and_replication_reduction_type == poptorch.ReductionType.Mean
    assert options.anchored_tensors == {}
    assert options.broadcast_buffers
    assert not options.exists("random_seed")
    assert not options.uses_ipu_model


def test_setters_chain_and_are_read_back():
    options = poptorch.Options().deviceIterations(50).outputMode(poptorch.OutputMode.EveryN, 10).replicationFactor(2)
    options.Training.gradientAccumulation(4).accumulationAndReplicationReductionType(poptorch.ReductionType.Sum)
    options.Precision.setPartialsType(torch.half).enableStochasticRounding(True)
    assert (options.device_iterations, options.output_return_period, options.replication_factor) == (50, 10, 2)
    assert options("device_iterations") == 50
    assert options.Training.gradient_accumulation == 4
    assert options.Precision.partials_type == "float16"
    options.setAvailableMemoryProportion({"IPU0": 0.6, "IPU12": 1})
    assert options.available_memory_proportion == {0: 0.6, 12: 1.0}
    options.useOfflineIpuTarget(21)
    assert (options.connection_type, options.offline_version) == (poptorch.ConnectionType.Never, "ipu21")
    options.anchorTensor("loss", "CrossEntropy", poptorch.OutputMode.All, 7)
    assert options.anchored_tensors["loss"] == ("CrossEntropy", poptorch.OutputMode.All, 1)


WRONG = {
    "deviceIterations": [0, -1, 2.5, "3", True, None],
    "replicationFactor": [0, "2"],
    "inputReplicaGrouping": [0, (2, poptorch.CommGroupType.All), (2, 1)],
    "outputMode": [2, poptorch.OutputMode.EveryN, (poptorch.OutputMode.EveryN, 0), "All"],
    "anchorTensor": [(1, "a"), ("a", 2), ("a", "b", 3), ("a", "b", poptorch.OutputMode.EveryN, 0)],
    "setExecutionStrategy": [None, "A", poptorch.Stage("A")],
    "broadcastBuffers": [1],
    "updatableNamedBuffers": ["name", [1]],
    "randomSeed": [1.5, "1", True],
    "enableSyntheticData": [1],
    "enableStableNorm": [None],
    "connectionType": [0, "Always"],
    "useIpuModel": [1],
    "useIpuId": [-1, "0"],
    "useOfflineIpuTarget": [3, True],
    "autoRoundNumIPUs": [1],
    "syncPattern": [0],
    "setAvailableMemoryProportion": [[0.5], {"IPU": 0.5}, {"0": 0.5}, {"IPU0": 1.5}, {"IPU0": True}, {0: 0.5}],
    "modelName": [1],
    "enableExecutableCaching": [1],
    "enableProfiling": [True],
    "logDir": [None],
    "maxRepeatLogs": [-1, "x"],
    "logCycleCount": [1],
    "showCompilationProgressBar": [1],
    "relaxOptimizerAttributesChecks": [1],
    "sourceLocationExcludes": ["a", [1]],
    "appendToLocationExcludes": [1],
    "Training.gradientAccumulation": [0, 1.5],
    "Training.accumulationAndReplicationReductionType": [1, poptorch.ReductionType.NoReduction],
    "Training.setMeanAccumulationAndReplicationReductionStrategy": [1],
    "Training.setAutomaticLossScaling": [1],
    "Training.setConvolutionDithering": ["yes"],
    "Precision.halfFloatCasting": [1, poptorch.HalfFloatCastingBehavior.FloatDowncastToHalf],
    "Precision.runningStatisticsAlwaysFloat": [1],
    "Precision.enableFloatingPointExceptions": [1],
    "Precision.enableStochasticRounding": [1],
    "Precision.setPartialsType": [torch.float64, "half"],
    "Precision.autocastEnabled": [1],
    "Jit.traceModel": [1],
    "Distributed.configureProcessId": [(2, 2), (-1, 2), (0, 0)],
    "Distributed.setEnvVarNames": [(1, 2)],
    "TensorLocations.numIOTiles": [10, 193, 33, "32"],
    "TensorLocations.setActivationLocation": [{}],
    "TensorLocations.setWeightLocation": [1],
    "TensorLocations.setOptimizerLocation": [None],
    "TensorLocations.setAccumulatorLocation": ["x"],
    "_Popart.set": [(1, 2)],
    "_Popart.setEngineOptions": [{"a": True}, "a"],
    "_Popart.setPatterns": ["a", ({}, -1)],
}
TAKE_ANYTHING = {"disableModuleNamescope", "Distributed.disable", "Precision.autocastPolicy"}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_wrong_values_are_refused_by_one_sentence(name):
    for wrong in WRONG[name]:
        setter = dict(every_setter())[name]
        before = repr(setter.__self__)
        with pytest.raises((AssertionError, ValueError)) as raised:
            setter(*(wrong if isinstance(wrong, tuple) else (wrong,)))
        assert "\n" not in str(raised.value)
        assert repr(setter.__self__) == before


def test_every_setter_has_a_refused_value_and_an_entry_in_the_table():
    names = {name for name, _ in every_setter()}
    assert names == set(WRONG) | TAKE_ANYTHING
    assert names == set(OPTIONS)


@pytest.mark.parametrize(("name", "value"), [("autocastEnabled", True), ("autocastPolicy", None)])
def test_autocasting_is_refused_by_name(name, value):
    with pytest.raises(NotImplementedError, match=f"Precision.{name} is not simulated"):
        getattr(poptorch.Options().Precision, name)(value)


def test_frozen_options_refuse_every_change():
    options = poptorch.Options()
    options.freeze()
    for change in (
        lambda: options.deviceIterations(2),
        lambda: options.Training.gradientAccumulation(2),
        lambda: options.Precision.enableStochasticRounding(True),
        lambda: options._Popart.set("a", 1),
        lambda: options.TensorLocations.numIOTiles(32),
        lambda: options.Distributed.disable(),
        lambda: options.anchorTensor("a", "b"),
        lambda: options.set(device_iterations=2),
        lambda: options.from_json('{"deviceIterations": 2}'),
        lambda: setattr(options, "anything", 1),
    ):
        with pytest.raises(AttributeError, match="Can't modify frozen Options"):
            change()
    options.clone().deviceIterations(2)
    assert options.device_iterations == 1


def test_an_option_is_called_and_never_assigned():
    with pytest.raises(AttributeError, match="deviceIterations cannot be assigned; call the option's method"):
        poptorch.Options().deviceIterations = 4
    with pytest.raises(AttributeError, match="device_iterations cannot be assigned"):
        poptorch.Options().device_iterations = 4
    with pytest.raises(AttributeError, match="has no option 'devicIterations'"):
        poptorch.Options().devicIterations(4)


def test_copies_share_nothing():
    options = poptorch.Options().deviceIterations(5).anchorTensor("a", "b")
    options.Training.gradientAccumulation(4)
    options._Popart.set("autoRecomputation", 3)
    options.TensorLocations.setWeightLocation(poptorch.TensorLocationSettings().useOnChipStorage(True))
    copied = copy.deepcopy(options)
    options.deviceIterations(4).anchorTensor("c", "d")
    options.Training.gradientAccumulation(2)
    options._Popart.set("autoRecomputation", 2)
    options.TensorLocations.setWeightLocation(poptorch.TensorLocationSettings().useOnChipStorage(False))
    assert (copied.device_iterations, list(copied.anchored_tensors)) == (5, ["a"])
    assert copied.Training.gradient_accumulation == 4
    assert copied._Popart.options["autoRecomputation"] == 3
    assert copied.TensorLocations.location_weight == {"onChip": 1}
    assert options.TensorLocations.location_weight == {"onChip": 0}


def test_options_are_pickled_for_workers():
    options = poptorch.Options().deviceIterations(3).setExecutionStrategy(poptorch.ShardedExecution("A", "B"))
    options.freeze()
    again = pickle.loads(pickle.dumps(options))
    assert again.device_iterations == 3
    assert again.is_frozen


def test_the_random_seed_seeds_torch():
    poptorch.Options().randomSeed(42)
    drawn = torch.rand(1)
    torch.manual_seed(42)
    assert torch.equal(torch.rand(1), drawn)


def test_options_from_json():
    options = poptorch.Options().from_json(
        json.dumps(
            {
                "deviceIterations": 2,
                "Precision.enableStochasticRounding": True,
                "connectionType": "ConnectionType.OnDemand",
                "outputMode": ["poptorch.OutputMode.EveryN", 3],
                "_Popart.set": ["saveInitializersToFile", "weights.onnx"],
                "Precision.setPartialsType": "torch.half",
            }
        )
    )
    assert options.device_iterations == 2
    assert options.Precision.stochastic_rounding
    assert options.connection_type is poptorch.ConnectionType.OnDemand
    assert options.output_return_period == 3
    assert options._Popart.options == {"saveInitializersToFile": "weights.onnx"}
    assert options.Precision.partials_type == "float16"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is no JSON"),
        ("[1]", "no JSON object"),
        ('{"deviceIteration": 1}', "names 'deviceIteration', which is no option"),
        ('{"device_iterations": 1}', "which is no option"),
        ('{"Training.clone": 1}', "which is no option"),
        ('{"connectionType": "ConnectionType.Sometimes"}', "ConnectionType has no member 'Sometimes'"),
    ],
)
def test_bad_json_is_refused(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        poptorch.Options().from_json(text)


def test_defaults_come_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("POPTORCH_DEFAULT_OPTIONS", '{"Precision.enableStochasticRounding":true, "deviceIterations": 7}')
    monkeypatch.setenv("POPTORCH_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("POPTORCH_IPU_MODEL", "1")
    options = poptorch.Options()
    assert options.Precision.stochastic_rounding
    assert (options.device_iterations, options.cache_path) == (7, str(tmp_path))
    assert options.uses_ipu_model
    assert not options.clone().useIpuModel(False).uses_ipu_model
    monkeypatch.setenv("POPTORCH_DEFAULT_OPTIONS", '{"nothing": 1}')
    with pytest.raises(ValueError, match="POPTORCH_DEFAULT_OPTIONS names 'nothing', which is no option"):
        poptorch.Options()


def test_processes_come_from_openmpi(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "3")
    distributed = poptorch.Options().Distributed
    assert (distributed.processId, distributed.numProcesses) == (3, 4)
    distributed.disable()
    assert (distributed.processId, distributed.numProcesses) == (0, 1)
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "x")
    with pytest.raises(ValueError, match="both are integers"):
        poptorch.Options()


def test_a_file_of_lines(tmp_path):
    path = tmp_path / "poptorch.conf"
    path.write_text(
        "deviceIterations(1)\n"
        "setExecutionStrategy(poptorch.ShardedExecution(poptorch.Stage('A').ipu(1), ['B', 'C']))\n"
        "  replicationFactor(2).autoRoundNumIPUs()\n \n"
        "enableSyntheticData(True) # a remark\n"
        "# a remark\n"
        "outputMode(poptorch.OutputMode.EveryN, output_return_period=2)\n"
        "Precision.setPartialsType(torch.half)\n"
        "setAvailableMemoryProportion({'IPU0': 0.25})\n"
        "TensorLocations.setWeightLocation(poptorch.TensorLocationSettings().useOnChipStorage(False))\n"
    )
    options = poptorch.Options().loadFromFile(path)
    assert options.execution_strategy.stage("A").ipu_id == 1
    assert (options.replication_factor, options.auto_round_num_ipus) == (2, True)
    assert options.output_return_period == 2
    assert options.available_memory_proportion == {0: 0.25}
    assert options.TensorLocations.location_weight == {"onChip": 0}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("outputMode(poptorch.OutputMode.All", "SyntaxError at line 2 of poptorch.conf"),
        ("deviceIterations", "Line 2 of poptorch.conf calls no option"),
        ("deviceIteration(1)", "names an unknown option or value"),
        ("outputMode(poptorch.Mode.All)", "names an unknown option or value"),
        ("__class__.__init__()", "names an unknown option or value"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, sentence):
    path = tmp_path / "poptorch.conf"
    path.write_text(f"deviceIterations(1)\n{line}\n")
    with pytest.raises(poptorch.ConfigFileError, match=sentence):
        poptorch.Options().loadFromFile(path)


def test_a_line_runs_no_other_code(tmp_path):
    path = tmp_path / "poptorch.conf"
    path.write_text(f"logDir(open({str(tmp_path / 'made')!r}, 'w').name)\n")
    with pytest.raises(poptorch.ConfigFileError, match="names an unknown option or value"):
        poptorch.Options().loadFromFile(path)
    assert not (tmp_path / "made").exists()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(poptorch.ConfigFileError, match="cannot be read"):
        poptorch.Options().loadFromFile(tmp_path / "absent.conf")


def test_profiling_sets_options_of_the_engine(monkeypatch, capsys):
    options = poptorch.Options()
    options._Popart.setEngineOptions({"debug.instrument": "true", "autoReport.all": "false"})
    options.enableProfiling("reports")
    assert options._Popart.engine_options == {
        "debug.instrument": "true",
        "debug.allowOutOfMemory": "true",
        "autoReport.directory": "reports",
        "autoReport.all": "true",
    }
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", '{"autoReport.all":"true"}')
    options.enableProfiling()
    assert "[poptorch::python] [warning] Profiling setting overriden by environment variable" in capsys.readouterr().err


def test_options_without_effect_are_told_to_the_report():
    options = poptorch.Options().deviceIterations(2).syncPattern(poptorch.SyncPattern.SinglePipeline)
    options.TensorLocations.numIOTiles(num_tiles=64)
    assert list(options.recorded_only()) == ["syncPattern", "TensorLocations.numIOTiles"]
    assert options.recorded_only()["TensorLocations.numIOTiles"].startswith("num_tiles=64 (every tile computes")


def test_what_is_refused_raises_and_what_is_recorded_does_not():
    for name, entry in OPTIONS.items():
        if entry.effect is Effect.REFUSED:
            with pytest.raises(NotImplementedError, match="is not simulated"):
                dict(every_setter())[name](True)


def test_a_group_names_what_it_does_not_have():
    with pytest.raises(ValueError, match="Invalid option absent, valid options are"):
        poptorch.Options().set(absent=1)
    with pytest.raises(ValueError, match="Invalid option absent"):
        OptionGroup(present=1)("absent")
