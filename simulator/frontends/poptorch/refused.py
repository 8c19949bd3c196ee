"""Names of PopTorch that are not simulated. Each raises one sentence with its name and a way around it."""

from __future__ import annotations

from typing import Any, NoReturn

#: name -> what to do instead
WAYS_AROUND = {
    "custom_op": "write the operator in PyTorch; operators of PopART in C++ cannot be loaded",
    "MultiConv": "call the convolutions one after the other",
    "CPU": "call the function outside the module",
    "ctc_beam_search_decoder": "decode on the host",
    "dynamic_slice": "use torch.index_select or a mask",
    "dynamic_update": "use torch.where or torch.scatter",
    "fps": "call torch_cluster's on the host",
    "nearest": "call torch_cluster's on the host",
    "Attribute": "name operators with poptorch.NameScope",
    "autocasting": "convert tensors with .half() and .float()",
    "importPoptorchMetadataFromFile": "load a file with poptorch.load",
}


class RefusedCall:
    """A function, class or module of PopTorch that is not simulated. Any use of it raises NotImplementedError."""

    def __init__(self, name: str, way_around: str) -> None:
        self._sentence = f"poptorch.{name} is not simulated; {way_around} (docs/poptorch.md)."

    def __call__(self, *arguments: Any, **named: Any) -> NoReturn:
        raise NotImplementedError(self._sentence)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(self._sentence)


#: name -> what stands for it
REFUSED = {name: RefusedCall(name, way_around) for name, way_around in WAYS_AROUND.items()}
