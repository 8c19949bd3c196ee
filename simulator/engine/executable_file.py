"""Executables as bytes: a Cap'n Proto message and its checksum (popvision/formats/executable.py).

The file holds all of a compilation: the report's columns, the lowered programs with their cycles, the variables with
their values, and the programs. Library operations are named by their kernels, codelets of the user by module and class,
C and C++ codelets by their text; kernels are bound again when the file is read, which takes a fraction of compiling.
"""

from __future__ import annotations

import gc
from dataclasses import fields, replace
from typing import IO, Any

from popvision import __version__
from popvision.formats.capnp_stream import load_schema, opened
from popvision.formats.errors import FormatError
from popvision.formats.executable import FORMAT, SCHEMA, VERSION, checked_message, with_checksum
from popvision.formats.serialized_graph import serialized_messages
from simulator.base.errors import file_load_error, poplar_error
from simulator.base.target import Target
from simulator.codelets.vertex import vertex_type
from simulator.compiler.compiled_graph import CompiledGraph, GraphSource
from simulator.compiler.ir.program_visits import executed_sets
from simulator.compiler.serialized import serialized_graph
from simulator.engine.options import EngineOptions
from simulator.engine.value_codec import Decoder, Encoder, NotAnExecutableError, read_node
from simulator.graph.store import ExecutedVertices, GraphStore
from simulator.graph.vertices import BlockCosts, VertexBlock, VertexType
from simulator.runtime.values.numeric_plan import NumericPlan


def to_bytes(compiled: CompiledGraph, options: EngineOptions, name: str, target: Target) -> bytes:
    """The file. Raises poplar_error for what cannot be saved, naming it."""
    if compiled.arrangements is not None:
        raise poplar_error("An executable compiled with popvision.addressAccurate cannot be saved; turn that off.")
    if options.run.trace or options.run.verify:
        raise poplar_error(
            "An executable compiled with debug.trace or debug.runtimeVerify cannot be saved: library operations run "
            "vertex by vertex, and the code of their vertices is not in the file."
        )
    store, programs = compiled.source.store, list(compiled.source.programs)
    run = executed_sets([*programs, *store.functions])
    kept = replace(
        store,
        settled_blocks=[_without_code(b) for b in store.settled_blocks if b.compute_set in run],
        open_blocks={},
        vertex_types={},
        supplied={},
        estimators={},
        executed=ExecutedVertices(),  # the same bytes before and after a run
    )
    plain = {f.name: getattr(compiled, f.name) for f in fields(compiled) if f.name != "source"}
    plain["saved_graph"] = compiled.saved_graph or b"".join(serialized_messages(serialized_graph(compiled)))
    encoder = Encoder(kept)
    root = encoder.encode(
        {
            "executable": plain,
            "store": vars(kept),
            "programs": programs,
            "options": options,
            "name": name,
            "target": target,
        }
    )
    message = load_schema(SCHEMA).ExecutableFile.new_message(
        format=FORMAT, version=VERSION, package=__version__, root=root
    )
    nodes = message.init("nodes", len(encoder.nodes))
    for into, node in zip(nodes, encoder.nodes, strict=True):
        into.kind, into.text, into.data, into.children = node.kind, node.text, node.data, list(node.children)
    return with_checksum(bytes(message.to_bytes()))


def from_file(in_: IO[bytes], check_package: bool) -> tuple[CompiledGraph, NumericPlan, EngineOptions, str, Target]:
    """What `to_bytes` was given, with a plan of its values.

    Raises file_load_error for anything else; with `check_package` also for a file of another version of the simulator;
    poplar_error for a codelet that is not there any more."""
    data = in_.read()
    if not isinstance(data, bytes):
        raise file_load_error("An executable is read from a binary file object: open(path, 'rb').")
    collecting = gc.isenabled()
    gc.disable()  # the values are many and all stay; in a process with TensorFlow, collections take half of the time
    try:
        return _read(data, check_package)
    except (NotAnExecutableError, FormatError) as error:
        raise file_load_error(f"The file holds no executable of this simulator: {error}.") from None
    except poplar_error:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise file_load_error(
            f"The file holds no executable of this simulator: it is damaged ({type(error).__name__}: {error})."
        ) from None
    finally:
        if collecting:
            gc.enable()


def _read(data: bytes, check_package: bool) -> tuple[CompiledGraph, NumericPlan, EngineOptions, str, Target]:
    checked, _ = checked_message(data)
    with opened(load_schema(SCHEMA).ExecutableFile, checked) as message:
        if check_package and message.package != __version__:
            raise NotAnExecutableError(
                f"it was written by version {message.package} and this is {__version__}; compile again, or pass "
                "checkPackageHash=False"
            )
        nodes = [read_node(one) for one in message.nodes]
        root = message.root
    decoder = Decoder(nodes)
    parts = decoder.decode(root)
    stores = [value for value in decoder.values() if isinstance(value, GraphStore)]
    store = stores[0] if stores else GraphStore()
    store.__dict__.update(parts["store"])
    for block in store.settled_blocks:
        block.type = _with_code(block.type)
    programs = tuple(parts["programs"])
    kept = parts["executable"]
    plan = NumericPlan(store, programs, counted=frozenset(kept["lowered"].counted))
    graph = kept.pop("serialized", None)  # before 2.2; None where the options asked for none
    if graph is not None:
        kept["saved_graph"] = b"".join(serialized_messages(graph))
    compiled = CompiledGraph(source=GraphSource(store, programs), **kept)
    return compiled, plan, parts["options"], parts["name"], parts["target"]


def _without_code(block: VertexBlock) -> VertexBlock:
    """A block whose type is data: a compiled class, or a class of Python by name."""
    type_ = block.type
    if type_.compiled is None and type_.codelet is None:
        raise poplar_error(
            f"The executable cannot be saved: vertices of type {type_.name} run one by one, and their code belongs to "
            "a library; execute that compute set as part of the library's operation."
        )
    code = replace(type_, costs=None, counts=None, code=None, compute=None, compute_batch=None)  # type: ignore[arg-type]
    return replace(block, type=code)


def _with_code(type_: Any) -> VertexType:
    """The type with its code. It needs no cost function: the lowered programs hold the cycles."""
    if not isinstance(type_, VertexType):
        raise NotAnExecutableError("a block of vertices has no type")
    if type_.codelet is not None:
        return vertex_type(type_.codelet)
    return replace(type_, costs=_no_costs)


def _no_costs(*_: Any) -> BlockCosts:
    raise poplar_error("A vertex of a saved executable has no cost function; its cycles are in the lowered programs.")
