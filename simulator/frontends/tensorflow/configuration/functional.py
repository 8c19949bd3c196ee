"""The functional API of tensorflow.python.ipu.utils (SDK 1.0 to 2.6): functions that take options and return them.

An `IpuOptions` is an IPUConfig with the options that only this API has, so each function assigns attributes, which are
checked as in IPUConfig, and a system is configured in one way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from simulator.frontends.tensorflow import system
from simulator.frontends.tensorflow.configuration.enumerations import (
    DeviceConnectionType,
    ExecutionProfileType,
    MergeRemoteBuffersBehaviour,
    SchedulingAlgorithm,
    SelectionOrder,
    StochasticRoundingBehaviour,
)
from simulator.frontends.tensorflow.configuration.ipu_config import IPUConfig
from simulator.frontends.tensorflow.configuration.options import Category, ConfigurationError, recorded, works
from simulator.frontends.tensorflow.device_clusters import move_initialization_to_host

_NO_EVENTS = "events of TensorFlow's driver are not there; set autoReport.all and open the report"
_NO_CHECKS = "transfers are not checked by keys"
_ALGORITHMS = {
    "": SchedulingAlgorithm.CHOOSE_BEST,
    "Clustering": SchedulingAlgorithm.CLUSTERING,
    "PostOrder": SchedulingAlgorithm.POST_ORDER,
    "LookAhead": SchedulingAlgorithm.LOOK_AHEAD,
    "ShortestPath": SchedulingAlgorithm.SHORTEST_PATH,
}


class _Profiling(Category):
    """Reports and events of programs."""

    profiling = works(bool, False, "Reports of compilation.", "autoReport.outputGraphProfile")
    profile_execution = works(
        ExecutionProfileType,
        ExecutionProfileType.NO_PROFILE,
        "Reports of runs.",
        "autoReport.outputExecutionProfile; its kind is debug.computeInstrumentationLevel",
    )
    report_directory = works(str, "", "Folder of the reports.", "autoReport.directory")
    enable_ipu_events = recorded(bool, False, "Events without reports.", _NO_EVENTS)
    use_poplar_text_report = recorded(bool, False, "Reports as text.", "the report is profile.pop")
    use_poplar_cbor_report = recorded(bool, False, "Reports as CBOR.", "the report is profile.pop")
    enable_poplar_serialized_graph = recorded(bool, False, "The graph as an event.", _NO_EVENTS)
    report_every_nth_execution = recorded(int, 0, "Runs between reports.", "all runs are in one report")
    max_report_size = recorded(int, 0x10000000, "Bytes of a report in an event.", _NO_EVENTS)
    graph_options = recorded(dict, {}, "Options of the graph report.", "the viewer has all parts of the report")
    execution_options = recorded(dict, {}, "Options of the execution report.", "the viewer has all parts of the report")


class _Old(Category):
    """Other options that IPUConfig no longer has."""

    allow_stateful_recompute = recorded(bool, False, "Recompute stateful stages.", "activations are kept")
    disable_graph_convolution_caching = recorded(bool, False, "No reuse of convolutions.", "nothing is reused")
    retain_control_dependencies = recorded(
        bool, False, "Keep TensorFlow's control dependencies.", "operations run in the order of the trace"
    )
    use_verified_transfers = recorded(bool, False, "Verified transfers.", _NO_CHECKS)
    verification_keys = recorded(dict, {}, "Keys and ids of verified transfers.", _NO_CHECKS)


class IpuOptions(IPUConfig):
    """What create_ipu_config gives."""

    profiling = _Profiling
    old = _Old


def create_ipu_config(
    profiling: bool = False,
    enable_ipu_events: bool = False,
    use_poplar_text_report: bool = False,
    use_poplar_cbor_report: bool = False,
    profile_execution: bool | ExecutionProfileType | None = None,
    enable_poplar_serialized_graph: bool = False,
    report_every_nth_execution: int = 0,
    max_report_size: int = 0x10000000,
    report_directory: str = "",
    scheduler_selection: str | SchedulingAlgorithm = "",
    always_rearrange_copies_on_the_host: bool = False,
    merge_infeed_io_copies: bool = False,
    disable_graph_convolution_caching: bool = False,
    disable_graph_outlining: bool = False,
    retain_control_dependencies: bool = False,
    max_cross_replica_sum_buffer_size: int = 0,
    max_inter_ipu_copies_buffer_size: int = 0,
    max_scheduler_lookahead_depth: int = 5,
    max_scheduler_search_space_size: int = 64,
    prefetch_data_streams: bool = True,
    selection_order: SelectionOrder | None = None,
    enable_experimental_remote_buffer_embedding: bool = False,
) -> IpuOptions:
    """Options of a system without devices. Raises ConfigurationError for kinds of profiling that exclude each other,
    TypeError for values of another type."""
    if profiling and enable_ipu_events:
        raise ConfigurationError("`profiling` and `enable_ipu_events` are mutually exclusive")
    opts = IpuOptions()
    reports = opts.profiling
    reports.profiling, reports.enable_ipu_events = profiling, enable_ipu_events
    reports.profile_execution = _execution_profile(profile_execution, profiling)
    reports.use_poplar_text_report, reports.use_poplar_cbor_report = use_poplar_text_report, use_poplar_cbor_report
    reports.enable_poplar_serialized_graph = enable_poplar_serialized_graph
    reports.report_every_nth_execution, reports.max_report_size = report_every_nth_execution, max_report_size
    reports.report_directory = report_directory
    opts.scheduling.algorithm = _algorithm(scheduler_selection)
    opts.scheduling.maximum_scheduler_lookahead_depth = max_scheduler_lookahead_depth
    opts.scheduling.maximum_scheduler_search_space_size = max_scheduler_search_space_size
    opts.experimental.always_rearrange_copies_on_the_host = always_rearrange_copies_on_the_host
    opts.experimental.enable_remote_buffer_embedding = enable_experimental_remote_buffer_embedding
    opts.optimizations.merge_infeed_io_copies = merge_infeed_io_copies
    opts.optimizations.enable_graph_outlining = not disable_graph_outlining
    opts.optimizations.maximum_cross_replica_sum_buffer_size = max_cross_replica_sum_buffer_size
    opts.optimizations.maximum_inter_ipu_copies_buffer_size = max_inter_ipu_copies_buffer_size
    opts.optimizations.prefetch_data_streams = prefetch_data_streams
    opts.old.disable_graph_convolution_caching = disable_graph_convolution_caching
    opts.old.retain_control_dependencies = retain_control_dependencies
    opts.selection_order = selection_order or SelectionOrder.AUTO
    return _with_report_options(opts)


def _execution_profile(chosen: bool | ExecutionProfileType | None, profiling: bool) -> ExecutionProfileType:
    if not chosen:
        return ExecutionProfileType.NO_PROFILE
    kind = ExecutionProfileType.DEVICE_PROFILE if chosen is True else chosen
    if not isinstance(kind, ExecutionProfileType):
        raise ConfigurationError("`profile_execution` must be True, False, or an ExecutionProfileType instance")
    if kind is not ExecutionProfileType.NO_PROFILE and not profiling:
        raise ConfigurationError("`profiling` is required when `profile_execution` is set")
    return kind


def _algorithm(chosen: str | SchedulingAlgorithm) -> SchedulingAlgorithm:
    if isinstance(chosen, SchedulingAlgorithm):
        return chosen
    if chosen not in _ALGORITHMS:
        raise TypeError(f"Could not convert '{chosen}' to a valid `SchedulingAlgorithm`.")
    return _ALGORITHMS[chosen]


def _with_report_options(opts: IpuOptions) -> IpuOptions:
    """Ask Poplar for the reports that profiling wants."""
    reports, options = opts.profiling, opts.compilation_poplar_options
    if reports.profiling:
        options |= {"autoReport.outputGraphProfile": "true", "debug.allowOutOfMemory": "true"}
        if reports.report_directory:
            options["autoReport.directory"] = reports.report_directory
    if reports.profile_execution is not ExecutionProfileType.NO_PROFILE:
        level = reports.profile_execution.name.removesuffix("_PROFILE").lower()
        options |= {"autoReport.outputExecutionProfile": "true", "debug.computeInstrumentationLevel": level}
    return opts


def set_serialization_options(opts: IpuOptions, output_folder: str = "") -> IpuOptions:
    """Write compiled executables to a folder; "": to none."""
    opts.serialization_output_folder = output_folder
    return opts


def set_optimization_options(
    opts: IpuOptions,
    combine_embedding_lookups: bool = False,
    combine_matmuls: bool = False,
    max_cross_replica_sum_buffer_size: int = 0,
    max_reduce_scatter_buffer_size: int = 0,
    max_inter_ipu_copies_buffer_size: int = 0,
    max_send_recv_cluster_size: int = 0,
    minimum_remote_tensor_size: int = 128,
    merge_remote_buffers: MergeRemoteBuffersBehaviour | bool | None = MergeRemoteBuffersBehaviour.NO_MERGING,
    gather_simplifier: bool = True,
    triangular_solve_expander_block_size: int = 0,
    cholesky_block_size: int = 0,
    enable_fast_math: bool = False,
) -> IpuOptions:
    """Options of `optimizations`. A bool for `merge_remote_buffers` is the old form; None: if beneficial."""
    if not isinstance(merge_remote_buffers, MergeRemoteBuffersBehaviour):
        behaviours = MergeRemoteBuffersBehaviour
        merge_remote_buffers = {None: behaviours.IF_BENEFICIAL, True: behaviours.MERGE}.get(
            merge_remote_buffers, behaviours.NO_MERGING
        )
    chosen = opts.optimizations
    chosen.combine_embedding_lookups, chosen.combine_matmuls = combine_embedding_lookups, combine_matmuls
    chosen.maximum_cross_replica_sum_buffer_size = max_cross_replica_sum_buffer_size
    chosen.maximum_reduce_scatter_buffer_size = max_reduce_scatter_buffer_size
    chosen.maximum_inter_ipu_copies_buffer_size = max_inter_ipu_copies_buffer_size
    chosen.maximum_send_recv_cluster_size = max_send_recv_cluster_size
    chosen.minimum_remote_tensor_size = minimum_remote_tensor_size
    chosen.merge_remote_buffers = merge_remote_buffers
    chosen.enable_gather_simplifier = gather_simplifier
    chosen.triangular_solve_expander_block_size = triangular_solve_expander_block_size
    chosen.cholesky_block_size = cholesky_block_size
    chosen.math.fast = enable_fast_math
    return opts


def set_norm_options(
    opts: IpuOptions,
    use_stable_statistics: bool = False,
    experimental_distributed_batch_norm_replica_group_size: int = 1,
) -> IpuOptions:
    """Options of normalisation. Raises ValueError for a group without replicas."""
    if experimental_distributed_batch_norm_replica_group_size < 1:
        raise ValueError("experimental_distributed_batch_norm_replica_group_size needs to be at least 1.")
    opts.norms.use_stable_statistics = use_stable_statistics
    size = experimental_distributed_batch_norm_replica_group_size
    opts.norms.experimental.distributed_batch_norm_replica_group_size = size
    return opts


def set_transfer_options(opts: IpuOptions, use_verified_transfers: bool = False) -> IpuOptions:
    """Whether transfers are verified."""
    opts.old.use_verified_transfers = use_verified_transfers
    return opts


class KeyId:
    """Key and first id of one kind of verified transfers."""

    def __init__(self, key: int = 0, start_id: int = -1) -> None:
        self.key = key
        self.start_id = start_id


class VerificationOptions:
    """Keys and ids by the kind of transfer; infeeds and outfeeds by their names."""

    def __init__(self) -> None:
        self.inputs = KeyId()
        self.input_parameters = KeyId()
        self.outputs = KeyId()
        self.output_parameters = KeyId()
        self.infeeds: defaultdict[str, KeyId] = defaultdict(KeyId)
        self.outfeeds: defaultdict[str, KeyId] = defaultdict(KeyId)
        self.checkpoint_in = KeyId(0, 0)
        self.checkpoint_out = KeyId(0, 0)


def set_verification_options(opts: IpuOptions, verification_options: VerificationOptions) -> IpuOptions:
    """Keys of verified transfers. Raises ConfigurationError for another object."""
    if not isinstance(verification_options, VerificationOptions):
        raise ConfigurationError("`verification_options` must be of type VerificationOptions")
    keys: dict[str, tuple[int, int]] = {}
    for name, one in vars(verification_options).items():
        feeds = {f"{name}.{feed}": given for feed, given in one.items()} if isinstance(one, dict) else {name: one}
        keys |= {feed: (given.key, given.start_id) for feed, given in feeds.items()}
    opts.old.verification_keys = keys
    return opts


def set_compilation_options(opts: IpuOptions, compilation_options: Mapping[str, str] | None = None) -> IpuOptions:
    """Engine options of Poplar, beside those that are set. Raises ConfigurationError for what is no dict."""
    opts.compilation_poplar_options |= _dictionary("compilation_options", compilation_options)
    return opts


def set_convolution_options(opts: IpuOptions, convolution_options: Mapping[str, str] | None = None) -> IpuOptions:
    """PopLibs options of convolutions, beside those that are set. Raises ConfigurationError for what is no dict."""
    opts.convolutions.poplar_options |= _dictionary("convolution_options", convolution_options)
    return opts


def set_matmul_options(
    opts: IpuOptions, matmul_options: Mapping[str, str] | None = None, clear_pass_type: bool = False
) -> IpuOptions:
    """PopLibs options of products, beside those that are set. Raises ConfigurationError for what is no dict."""
    opts.matmuls.poplar_options |= _dictionary("matmul_options", matmul_options)
    opts.matmuls.clear_pass_type = clear_pass_type
    return opts


def set_pooling_options(opts: IpuOptions, pooling_options: Mapping[str, str] | None = None) -> IpuOptions:
    """PopLibs options of pooling, beside those that are set. Raises ConfigurationError for what is no dict."""
    opts.pooling.poplar_options |= _dictionary("pooling_options", pooling_options)
    return opts


def set_report_options(
    opts: IpuOptions,
    report_options: Mapping[str, str] | None = None,
    graph_options: Mapping[str, str] | None = None,
    execution_options: Mapping[str, str] | None = None,
) -> IpuOptions:
    """Options of the text reports; `report_options` are those of both. Raises ConfigurationError for what is no
    dict."""
    both = _dictionary("report_options", report_options)
    opts.profiling.graph_options |= _dictionary("graph_options", graph_options) or both
    opts.profiling.execution_options |= _dictionary("execution_options", execution_options) or both
    return opts


def set_ipu_model_options(
    opts: IpuOptions,
    compile_ipu_code: bool = True,
    tiles_per_ipu: int | None = None,
    ipu_model_version: str = "ipu2",
) -> IpuOptions:
    """The IPU Model that --use_ipu_model runs on."""
    opts.ipu_model.compile_ipu_code = compile_ipu_code
    opts.ipu_model.tiles_per_ipu = tiles_per_ipu or 0
    opts.ipu_model.version = ipu_model_version
    return opts


def set_recomputation_options(
    opts: IpuOptions, allow_recompute: bool = True, allow_stateful_recompute: bool | None = None
) -> IpuOptions:
    """Recompute activations."""
    opts.allow_recompute = allow_recompute
    opts.old.allow_stateful_recompute = bool(allow_stateful_recompute)
    return opts


def set_floating_point_behaviour_options(
    opts: IpuOptions,
    inv: bool = True,
    div0: bool = True,
    oflo: bool = True,
    esr: bool | StochasticRoundingBehaviour = True,
    nanoo: bool = True,
) -> IpuOptions:
    """Exceptions and rounding: all on, unless an argument says no."""
    chosen = opts.floating_point_behaviour
    chosen.inv, chosen.div0, chosen.oflo, chosen.nanoo = inv, div0, oflo, nanoo
    chosen.esr = StochasticRoundingBehaviour.from_bool(esr) if isinstance(esr, bool) else esr
    return opts


def set_io_tile_options(
    opts: IpuOptions,
    num_io_tiles: int,
    place_ops_on_io_tiles: bool | None = None,
    io_tile_available_memory_proportion: float = 0.9,
) -> IpuOptions:
    """Tiles for I/O. Raises ValueError for operations on tiles that are not there."""
    opts.io_tiles.num_io_tiles = num_io_tiles
    opts.io_tiles.available_memory_proportion = io_tile_available_memory_proportion
    if place_ops_on_io_tiles is not None:
        if place_ops_on_io_tiles and num_io_tiles == 0:
            raise ValueError("Cannot place ops on I/O tiles when num_io_tiles == 0")
        opts.io_tiles.place_ops_on_io_tiles = place_ops_on_io_tiles
    return opts


def set_gcl_options(opts: IpuOptions, gcl_options: Mapping[str, str] | None = None) -> IpuOptions:
    """Options of GCL, beside those that are set. Raises TypeError for what is no dict."""
    if not isinstance(gcl_options, dict):
        raise TypeError("`gcl_options` must be a dictionary")
    opts.gcl_poplar_options |= gcl_options
    return opts


def auto_select_ipus(opts: IpuOptions, num_ipus: int | list[int] | tuple[int, ...]) -> IpuOptions:
    """The number of IPUs of each device. Raises ConfigurationError for other values, and where devices are chosen
    already."""
    _check_no_devices(opts)
    if not isinstance(num_ipus, int | list | tuple):
        raise ConfigurationError("`num_ipus` must be an integer, list or tuple.")
    opts.auto_select_ipus = num_ipus
    return opts


def select_ipus(opts: IpuOptions, indices: list[int] | tuple[int, ...]) -> IpuOptions:
    """The id of each device. Raises ConfigurationError for other values, and where devices are chosen already."""
    _check_no_devices(opts)
    if not isinstance(indices, list | tuple):
        raise ConfigurationError("`indices` must be a list or tuple.")
    if len(set(indices)) != len(indices):
        raise ConfigurationError("All device indices in `indices` must be unique.")
    opts.select_ipus = indices
    return opts


def set_ipu_connection_type(
    opts: IpuOptions,
    connection_type: DeviceConnectionType | None = DeviceConnectionType.ALWAYS,
    ipu_version: int | str | None = "",
    enable_remote_buffers: bool = False,
) -> IpuOptions:
    """When the device is attached. `ipu_version` is 1 or 2 in the oldest form. Raises ConfigurationError where a
    type without a device has no version."""
    kind = DeviceConnectionType.ALWAYS if connection_type is None else connection_type
    needs_version = kind in (DeviceConnectionType.NEVER, DeviceConnectionType.PRE_COMPILE)
    if needs_version and ipu_version in ("", None):
        raise ConfigurationError(f"`ipu_version` must be specified when `connection_type` is set to `{kind}`.")
    opts.device_connection.type = kind
    opts.device_connection.version = f"ipu{ipu_version}" if isinstance(ipu_version, int) else ipu_version or ""
    opts.device_connection.enable_remote_buffers = enable_remote_buffers
    return opts


def set_experimental_multi_replica_distribution_options(
    opts: IpuOptions, process_count: int, process_index: int
) -> IpuOptions:
    """Processes that run one program, which configuring the system refuses. Raises ValueError for an index that no
    process has."""
    if not 0 <= process_index < process_count:
        raise ValueError("0 <= process_index < process_count")
    chosen = opts.experimental.multi_replica_distribution
    chosen.process_count, chosen.process_index = process_count, process_index
    return opts


def reset_ipu_seed(
    seed: int, device: str = "/device:IPU:0", cpu_device: str = "cpu", experimental_identical_replicas: bool = False
) -> None:
    """Set the seed of random operators that have none of their own. `cpu_device` and `experimental_identical_replicas`
    change nothing: there is one host, and replicas draw numbers of their own. Raises ConfigurationError for another
    device."""
    _check_device(device)
    system.reset_ipu_seed(seed)


def get_num_of_ipus_in_device(ipu_device: str, device: str = "cpu") -> int:
    """The number of IPUs of a TensorFlow device. Raises ConfigurationError for another device than
    /device:IPU:0."""
    _check_device(ipu_device)
    return system.current().connection.target.getNumIPUs()


def move_variable_initialization_to_cpu(graph: Any = None) -> None:
    """The first values of variables on the IPU are computed on the host. `graph`: None for the default graph."""
    move_initialization_to_host(graph)


def _check_no_devices(opts: IpuOptions) -> None:
    if opts.sizes or opts.devices:
        raise ConfigurationError("IPU devices have already been configured.")


def _check_device(device: str) -> None:
    if device != "/device:IPU:0":
        raise ConfigurationError(f"There is no device {device!r}; this system has '/device:IPU:0'.")


def _dictionary(name: str, options: Mapping[str, str] | None) -> dict[str, str]:
    if options and not isinstance(options, dict):
        raise ConfigurationError(f"`{name}` must be a dictionary")
    return dict(options or {})
