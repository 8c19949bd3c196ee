"""The names in PopTorch's lists of what it supports, by section, and those that do not work here.

From docs/user_guide/supported_ops.rst and overview.rst of github.com/graphcore/poptorch at the commits below; spelt as
they are there. A name that is not in REFUSED works: tests/frontends/operators/test_upstream_names.py has a case of each
operation, beside eager torch, in float32 and in float16.
"""

from __future__ import annotations

from collections.abc import Mapping

OPERATIONS_COMMIT = "03e5eebdc5b9436a1e22b9a71f789c23e564e3e5"
FEATURES_COMMIT = "002fd42d6ca4944222dcc6d46013d6ab23738ccb"


def _names(prefix: str, names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{name}" for name in names.split())


#: section of supported_ops.rst -> names
OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "Creation ops": (
        *_names("torch.", "arange full full_like ones ones_like zeros zeros_like"),
        *("tensor.fill", "torch.Tensor.new_ones", "torch.Tensor.new_zeros"),
    ),
    "Indexing, slicing, joining and mutating ops": (
        *_names("torch.", "bucketize cat chunk gather index_select index_reduce reshape roll scatter scatter_add"),
        *_names("torch.", "scatter_reduce stack split squeeze t transpose unbind unsqueeze where"),
        *_names("tensor.", "expand expand_as masked_fill index_fill_"),
    ),
    "Random samplers": (
        *_names("torch.", "bernoulli randn normal rand uniform exponential"),
        *_names("torch.distributions.", "Bernoulli Normal Uniform Exponential"),
    ),
    "Pointwise ops": _names(
        "torch.",
        "abs acos acosh add addcdiv amax amin asin asinh atan atanh bitwise_and bitwise_not bitwise_or bitwise_xor "
        "cdist ceil clamp clamp_max clamp_min cos cosh div exp expm1 floor floor_divide fmod frac log log10 log1p log2 "
        "logical_and logical_or mul norm neg pow reciprocal remainder round rsqrt sigmoid sign sin sinh sqrt square "
        "sub tan tanh true_divide trunc",
    ),
    "Reduction ops": _names(
        "torch.", "all any argmax argmin count_nonzero mean median prod logsumexp std std_mean sum var var_mean"
    ),
    "Comparison ops": _names("torch.", "eq ge gt le lt max min ne isnan topk argsort randperm sort"),
    "torch.linalg ops": _names("torch.linalg.", "norm matrix_norm vector_norm"),
    "Other ops": _names("torch.", "cumsum cross meshgrid cartesian_prod tensordot"),
    "BLAS and LAPACK operations": _names("torch.", "addmm matmul bmm"),
    "Containers": _names("torch.nn.", "Module Sequential"),
    "Convolution layers": _names("torch.nn.", "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d"),
    "Pooling layers": _names(
        "torch.nn.",
        "MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d "
        "AdaptiveAvgPool3d",
    ),
    "Padding layers": _names(
        "torch.nn.",
        "ReflectionPad1d ReflectionPad2d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad2d ConstantPad1d "
        "ConstantPad2d ConstantPad3d",
    ),
    "Activations": _names(
        "torch.nn.",
        "ELU CELU GELU Hardshrink LeakyReLU LogSoftmax ReLU SELU SiLU Sigmoid Softmax Softplus Softsign Softshrink "
        "Tanh PReLU RReLU Hardtanh functional.glu Threshold",
    ),
    "Normalization layers": _names(
        "torch.nn.",
        "BatchNorm1d BatchNorm2d BatchNorm3d LayerNorm GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d "
        "utils.weight_norm",
    ),
    "Recurrent layers": _names("torch.nn.", "RNN GRU LSTM"),
    "Linear layers": _names("torch.nn.", "Identity Linear Bilinear"),
    "Dropout": ("torch.nn.dropout",),
    "Sparse layers": _names("torch.nn.", "Embedding EmbeddingBag functional.one_hot"),
    "Loss functions": _names(
        "torch.nn.",
        "L1Loss MSELoss CrossEntropyLoss NLLLoss BCELoss KLDivLoss PoissonNLLLoss HingeEmbeddingLoss BCEWithLogitsLoss "
        "SmoothL1Loss SoftMarginLoss CosineEmbeddingLoss MarginRankingLoss TripletMarginLoss CTCLoss",
    ),
    "Vision layers": ("torch.nn.Upsample",),
    "PyTorch Scatter functions": (
        "torch_scatter.scatter",
        *_names("torch_scatter.composite.", "scatter_log_softmax scatter_softmax scatter_std scatter_logsumexp"),
    ),
    "Gradient computation control": ("torch.no_grad",),
}
#: names of overview.rst -> the test of each that works
FEATURES: Mapping[str, str] = {
    "poptorch.Liveness": "",
    "loss_scaling": "training/test_loss_scaling.py::test_another_loss_scaling_leaves_the_step_as_it_is",
    "velocity_scaling": "test_poptorch_optimizers.py::test_a_combined_accumulator_has_a_velocity_scaling",
}
#: the names of overview.rst that the table of names has
NAMED_FEATURES = _names(
    "",
    "trainingModel inferenceModel PoplarExecutor isRunningOnIpu Block BeginBlock Stage AutoStage Phase "
    "ShardedExecution PipelinedExecution SerialPhasedExecution ParallelPhasedExecution optim ipu_print_tensor "
    "identity_loss MultiConv custom_op nop serializedMatMul set_available_memory ipuHardwareIsAvailable "
    "ipuHardwareVersion setLogLevel profiling PoplarExecutor.compileAndExport load",
)
_SCATTER = "the package torch_scatter does not fit this torch; write Tensor.scatter_reduce"
#: name -> why it does not work, and the way around
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(OPERATIONS["PyTorch Scatter functions"], _SCATTER),
    "poptorch.Liveness": "phases need off-chip memory between them",
}
