"""The tables of IPUConfig: every attribute and category of tensorflow.python.ipu.config (SDK 3.4), with what each does
here."""

from __future__ import annotations

from simulator.frontends.tensorflow.configuration.enumerations import (
    DeviceConnectionType,
    MergeRemoteBuffersBehaviour,
    SchedulingAlgorithm,
    SelectionOrder,
    StochasticRoundingBehaviour,
)
from simulator.frontends.tensorflow.configuration.options import (
    Category,
    ConfigurationError,
    Effect,
    Option,
    recorded,
    refused,
    works,
)

_NO_SUCH_COLLECTIVE = "sums over replicas are the only collectives here, each on its own"
_ON_CHIP = "every tensor of the simulated model lies in tile memory"
_OTHER_COMPILER = "a transformation of TensorFlow's compiler, which is another here"
_TRACE_ORDER = "operations run in the order in which TensorFlow traced them"
_NO_SUCH_OPERATOR = "the operator is not captured"


class _Convolutions(Category):
    """Options of convolutions."""

    poplar_options = works(
        dict, {}, "PopLibs options of all convolutions.", "options of poplin.convolution and createWeights"
    )


class _Matmuls(Category):
    """Options of matrix products."""

    clear_pass_type = recorded(
        bool, False, "Whether PopLibs is not told which pass a product belongs to.", "no pass is told to PopLibs"
    )
    poplar_options = works(dict, {}, "PopLibs options of all matrix products.", "options of poplin.matMul")


class _Pooling(Category):
    """Options of pooling."""

    poplar_options = recorded(dict, {}, "PopLibs options of all pooling.", "popnn.pooling takes no options here")


class _Slices(Category):
    """Options of slices."""

    poplar_options = works(
        dict, {}, "PopLibs options of multiSlice and multiUpdate.", "options of popops.embedding.plan"
    )


class _DeviceConnection(Category):
    """When the device is attached."""

    type = works(
        DeviceConnectionType,
        DeviceConnectionType.ALWAYS,
        "When the device is attached.",
        "ALWAYS: at configuration; ON_DEMAND: before the first run; NEVER, PRE_COMPILE: never",
    )
    version = works(
        str,
        "",
        "'ipu1', 'ipu2' or 'ipu21': needed where no device is attached.",
        "the target of programs that are compiled without a device",
    )
    enable_remote_buffers = works(
        bool,
        False,
        "Whether the device that will run the programs supports remote buffers; an attached one is asked itself.",
        "part of the key of cached executables",
    )


class _MultiReplicaDistribution(Category):
    """Several processes that run one program."""

    process_index = refused(int, 0, "The index of this process.", "a program runs in one process here")
    process_count = refused(int, 0, "The number of processes; 0: one.", "a program runs in one process here")


class _Experimental(Category):
    """Options that may change."""

    always_rearrange_copies_on_the_host = works(
        bool,
        False,
        "Rearrange data of streams on the host, not on the device.",
        "exchange.streamBufferOverlap becomes none while optimizations.prefetch_data_streams is on",
    )
    enable_remote_buffer_embedding = recorded(
        bool, False, "HostEmbedding uses remote buffers.", "a HostEmbedding is an array of the host"
    )
    enable_prng_stability = recorded(
        bool, False, "Seeds of replicas are managed.", "replicas have seeds of their own always"
    )
    multi_replica_distribution = _MultiReplicaDistribution


class _FloatingPointBehaviour(Category):
    """Floating-point exceptions and rounding."""

    inv = works(bool, False, "An invalid operation stops the program.", "FloatingPointBehaviour.inv")
    div0 = works(bool, False, "A division by zero stops the program.", "FloatingPointBehaviour.div0")
    oflo = works(bool, False, "An overflow stops the program.", "FloatingPointBehaviour.oflo")
    esr = works(
        StochasticRoundingBehaviour | bool,
        StochasticRoundingBehaviour.OFF,
        "Stochastic rounding of float16; bools are deprecated.",
        "FloatingPointBehaviour.esr; REPLICA_IDENTICAL_ONLY is ON",
    )
    nanoo = works(bool, False, "NaN where a float16 overflows.", "FloatingPointBehaviour.nanoo")
    set_all = works(bool, False, "All of these are on.", "the five above")


class _IOTiles(Category):
    """Tiles for transfers with the host."""

    _REASON = "every tile computes; transfers with the host do not overlap computation"
    num_io_tiles = recorded(int, 0, "Tiles that are reserved for I/O.", _REASON)
    place_ops_on_io_tiles = recorded(bool, False, "I/O operations lie on them.", _REASON)
    available_memory_proportion = recorded(float, 0.9, "The share of their memory that holds data.", _REASON)


class _IPUModel(Category):
    """The IPU Model, in force with TF_POPLAR_FLAGS=--use_ipu_model."""

    compile_ipu_code = works(bool, True, "Whether code has sizes.", "IPUModel.compileIPUCode")
    tiles_per_ipu = works(int, 0, "Tiles of an IPU; 0: those of the version.", "IPUModel.tilesPerIPU")
    version = works(str, "ipu2", "'ipu1', 'ipu2' or 'ipu21'.", "the version of IPUModel")


class _NormsExperimental(Category):
    """Options of normalisation that may change."""

    distributed_batch_norm_replica_group_size = recorded(
        int,
        1,
        "Replicas that share the statistics of a batch normalisation.",
        "each replica has statistics of its own",
    )


class _Norms(Category):
    """Options of normalisation."""

    use_stable_statistics = works(
        bool, False, "Variances from differences to the mean.", "the order in which variances are computed"
    )
    experimental = _NormsExperimental


class _Math(Category):
    """Simplification of algebra."""

    fast = recorded(bool, False, "Rewrite without guarantees of accuracy.", "nothing is rewritten")
    dot_strength = recorded(bool, True, "Small products become elementwise.", _OTHER_COMPILER)


class _Optimizations(Category):
    """Options of the lowering to Poplar."""

    math = _Math
    prefetch_data_streams = works(
        bool,
        True,
        "Data of streams is fetched while the device runs.",
        "exchange.enablePrefetch=true and exchange.streamBufferOverlap=hostRearrangeOnly, unless these are given",
    )
    combine_embedding_lookups = recorded(bool, False, "Fuse lookups in one table.", _OTHER_COMPILER)
    combine_matmuls = recorded(bool, False, "Fuse products that share an operand.", _OTHER_COMPILER)
    enable_graph_outlining = recorded(bool, True, "Equal operations share code.", _OTHER_COMPILER)
    merge_infeed_io_copies = recorded(bool, False, "Merge copies from the host.", "each input has its own copy")
    maximum_cross_replica_sum_buffer_size = recorded(
        int, 0, "Bytes that wait before replicas are summed.", _NO_SUCH_COLLECTIVE
    )
    maximum_reduce_scatter_buffer_size = recorded(
        int, 0, "Bytes that wait before a reduce-scatter.", _NO_SUCH_COLLECTIVE
    )
    maximum_inter_ipu_copies_buffer_size = recorded(int, 0, "Bytes that wait before a copy between IPUs.", _TRACE_ORDER)
    maximum_send_recv_cluster_size = recorded(int, 0, "Bytes that wait before host operations.", _TRACE_ORDER)
    maximum_reduce_many_buffer_size = recorded(int, 0, "Bytes that wait before reductions.", _TRACE_ORDER)
    maximum_all_gather_buffer_size = recorded(int, 0, "Bytes that wait before an all-gather.", _NO_SUCH_COLLECTIVE)
    minimum_remote_tensor_size = recorded(int, 128, "Bytes of the smallest tensor in remote memory.", _ON_CHIP)
    merge_remote_buffers = recorded(
        MergeRemoteBuffersBehaviour,
        MergeRemoteBuffersBehaviour.IF_BENEFICIAL,
        "When compatible remote buffers are merged.",
        _ON_CHIP,
    )
    enable_gather_simplifier = recorded(bool, True, "Simplify embedding lookups.", _OTHER_COMPILER)
    triangular_solve_expander_block_size = recorded(int, 0, "Block of a triangular solve.", _NO_SUCH_OPERATOR)
    cholesky_block_size = recorded(int, 0, "Block of a Cholesky factorisation.", _NO_SUCH_OPERATOR)
    enable_fast_math = Option(
        bool,
        False,
        "The old place of optimizations.math.fast.",
        "nothing is rewritten",
        Effect.RECORDED,
        "'enable_fast_math' has been moved to 'optimizations.math.fast'. "
        "It will be removed from this location in a future release.",
    )


class _Scheduling(Category):
    """The order of operations."""

    algorithm = recorded(
        SchedulingAlgorithm, SchedulingAlgorithm.CHOOSE_BEST, "How operations are ordered.", _TRACE_ORDER
    )
    maximum_scheduler_lookahead_depth = recorded(int, 5, "How far LOOK_AHEAD looks.", _TRACE_ORDER)
    maximum_scheduler_search_space_size = recorded(int, 64, "How much LOOK_AHEAD searches.", _TRACE_ORDER)


class Configuration(Category):
    """All options of the IPU system."""

    allow_recompute = recorded(
        bool, False, "Recompute activations in the backward pass.", "activations are kept, as the traced step has them"
    )
    selection_order = recorded(
        SelectionOrder,
        SelectionOrder.AUTO,
        "The order of the IPUs of a device.",
        "operations run on the first IPU of the device, or on the one that `ipu_shard` says",
    )
    serialization_output_folder = works(
        str,
        "",
        "Folder of serialized executables; empty: none.",
        "the files `<hash>.ipu_bin`, the executable, and `<hash>.json`, its interface",
    )
    compilation_poplar_options = works(dict, {}, "Engine options of Poplar.", "options of compileGraph and Engine")
    gcl_poplar_options = recorded(dict, {}, "Options of GCL's collectives.", "collectives take no options here")
    auto_select_ipus = works(
        int | list[int] | tuple[int, ...],
        [],
        "The number of IPUs of the device /device:IPU:0; a list has one number per device.",
        "any free device of that size; replicas of a program with queues share it, other programs take its first IPUs; "
        "several devices are refused",
    )
    select_ipus = works(
        int | list[int] | tuple[int, ...],
        [],
        "The id of the device /device:IPU:0; a list has one id per device.",
        "the device of that id and no other; several devices are refused",
    )
    convolutions = _Convolutions
    device_connection = _DeviceConnection
    slices = _Slices
    experimental = _Experimental
    floating_point_behaviour = _FloatingPointBehaviour
    io_tiles = _IOTiles
    ipu_model = _IPUModel
    matmuls = _Matmuls
    norms = _Norms
    optimizations = _Optimizations
    pooling = _Pooling
    scheduling = _Scheduling

    @property
    def devices(self) -> list[int]:
        """`select_ipus` as a list."""
        return _numbers(self.select_ipus)

    @property
    def sizes(self) -> list[int]:
        """`auto_select_ipus` as a list."""
        return _numbers(self.auto_select_ipus)

    def check(self, uses_ipu_model: bool) -> None:
        """Raise for values that do not go together, as TensorFlow does when the system is configured: ValueError and
        ConfigurationError."""
        if self.sizes and self.devices:
            raise ConfigurationError("Only one of `auto_select_ipus` and `select_ipus` can be set.")
        if len(set(self.devices)) != len(self.devices):
            raise ValueError("All MultiIPU indices in `select_ipus` must be unique.")
        if self.devices and uses_ipu_model:
            raise ConfigurationError(
                "When using the IPUModel, the devices to attach to can only be specified with `auto_select_ipus`."
            )
        self._check_tiles()
        connection = self.device_connection
        if connection.type in (DeviceConnectionType.PRE_COMPILE, DeviceConnectionType.NEVER) and not connection.version:
            raise ValueError(
                "device_connection.version must be set when device_connection.type is DeviceConnectionType.NEVER or "
                "DeviceConnectionType.PRE_COMPILE"
            )
        if uses_ipu_model and not self.ipu_model.version:
            raise ValueError("ipu_model.version must be set when using the IPUModel.")
        if len(self.sizes or self.devices) > 1:
            raise ConfigurationError(
                f"The IPU system has one TensorFlow device here, /device:IPU:0, not {len(self.sizes or self.devices)}; "
                "give `auto_select_ipus` or `select_ipus` one number."
            )
        if any(size < 1 for size in self.sizes):
            raise ConfigurationError(f"`auto_select_ipus` is {self.sizes[0]}; a device has at least one IPU.")
        for name, option, value in self.walk():
            if option.effect is Effect.REFUSED and value != option.default:
                raise ConfigurationError(f"IPUConfig.{name} cannot be {value!r} here: {option.text}; leave it out.")

    def _check_tiles(self) -> None:
        size = self.norms.experimental.distributed_batch_norm_replica_group_size
        if size < 1:
            raise ValueError("norms.experimental.distributed_batch_norm_replica_group_size must be at least 1.")
        if self.io_tiles.num_io_tiles > 0 and size > 1:
            raise ValueError(
                "norms.experimental.distributed_batch_norm_replica_group_size is not supported with I/O tiles."
            )
        if self.io_tiles.place_ops_on_io_tiles and self.io_tiles.num_io_tiles == 0:
            raise ValueError("Cannot place ops on I/O tiles when io_tiles.num_io_tiles == 0")


def _numbers(value: int | list[int] | tuple[int, ...]) -> list[int]:
    return [value] if isinstance(value, int) else list(value)
