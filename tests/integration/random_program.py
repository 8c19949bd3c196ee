"""Random graph programs, built twice at once: on a Graph, and as functions on a NumPy memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simulator.poplar import FLOAT, HALF, INT, UNSIGNED_INT, Graph, Tensor, Type, concat
from simulator.poplar.program import Call, Copy, Execute, Program, Repeat, Sequence, Sync, SyncType, WriteUndef
from simulator.poplibs import poplin, popops, poputil
from tests.integration import slow_numbers as slow
from tests.integration.fuzz_codelets import codelets
from tests.integration.slow_numbers import DTYPE, Memory

Pick = Callable[[int, int], int]
"""pick(low, high): a number of the closed range."""
Act = Callable[[Memory], None]
TYPES = (FLOAT, HALF, INT, UNSIGNED_INT)


@dataclass
class View:
    tensor: Tensor
    cells: Any
    type: Type

    def on(self, view: Callable[[Any], Any], tensor: Tensor) -> View:
        cells = view(self.cells)
        assert list(cells.shape) == tensor.shape()
        return View(tensor, cells, self.type)

    @property
    def flat(self) -> View:
        return View(self.tensor.flatten(), self.cells.reshape(-1), self.type)


@dataclass
class Body:
    """Programs of one block with their twins."""

    program: Sequence = field(default_factory=Sequence)
    acts: list[Act] = field(default_factory=list)

    def add(self, program: Program, act: Act) -> None:
        self.program.add(program)
        self.acts.append(act)

    def run(self, memory: Memory) -> None:
        for act in self.acts:
            act(memory)


@dataclass
class RandomProgram:
    """A graph, its program, and the same program for a Memory. `inputs`, `outputs`: streams by handle."""

    graph: Graph
    pick: Pick
    memory: Memory = field(default_factory=Memory)
    body: Body = field(default_factory=Body)
    variables: list[View] = field(default_factory=list)
    made: list[View] = field(default_factory=list)
    constants: list[View] = field(default_factory=list)
    inputs: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, list[Any]] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    known: set[Type] = field(default_factory=set)
    counter: int = 0

    def __post_init__(self) -> None:
        for number in range(self.pick(3, 6)):
            self.variables.append(self.variable(TYPES[number % 4 if number < 3 else self.pick(0, 3)]))
        for type_ in dict.fromkeys(v.type for v in self.variables):
            self.constants.append(self.constant(type_))
        self.fill_body(self.body, self.pick(2, 7), 2)
        if self.made:
            self.keep_results()

    # ---- pieces ------------------------------------------------------------------------------------------------

    def name(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}{self.counter}"

    def numbers(self, type_: Type, count: int) -> Any:
        """Small multiples of a quarter, or small integers."""
        rng = np.random.default_rng(self.pick(0, 1000))
        low = 0 if type_ is UNSIGNED_INT else -12
        values = rng.integers(low, 13, count)
        return (values / 4 if type_ in (FLOAT, HALF) else values).astype(DTYPE[type_])

    def shape(self) -> list[int]:
        return [self.pick(1, 9) for _ in range(self.pick(1, 3))]

    def variable(self, type_: Type, shape: list[int] | None = None) -> View:
        shape = self.shape() if shape is None else shape
        tensor = self.graph.addVariable(type_, shape, self.name("v"))
        self.spread(tensor)
        view = View(tensor, self.memory.new(shape), type_)
        if self.pick(0, 2):
            values = self.numbers(type_, view.cells.size)
            self.graph.setInitialValue(tensor, values)
            self.memory.value[view.cells.reshape(-1)] = values
        return view

    def constant(self, type_: Type) -> View:
        shape = self.shape()
        cells = self.memory.new(shape)
        values = self.numbers(type_, cells.size)
        tensor = self.graph.addConstant(type_, shape, values, self.name("c"))
        self.graph.setTileMapping(tensor, self.tile())
        self.memory.value[cells.reshape(-1)] = values
        return View(tensor, cells, type_)

    def tile(self) -> int:
        return self.pick(0, self.graph.getTarget().getNumTiles() - 1)

    def spread(self, tensor: Tensor) -> None:
        """One tile, evenly, runs on random tiles, or every element on a random tile."""
        way, flat = self.pick(0, 3), tensor.flatten()
        if way == 0:
            self.graph.setTileMapping(tensor, self.tile())
        elif way == 1:
            poputil.mapTensorLinearly(self.graph, tensor, 1)
        else:
            run = 1 if way == 2 else self.pick(2, 9)
            rng = np.random.default_rng(self.pick(0, 1000))
            for begin in range(0, flat.numElements(), run):
                tile = int(rng.integers(self.graph.getTarget().getNumTiles()))
                self.graph.setTileMapping(flat.slice(begin, min(begin + run, flat.numElements())), tile)

    def source(self, type_: Type | None = None, views: int = 3) -> View:
        """Anything that can be read, through up to `views` views."""
        pool = [v for v in self.variables + self.made + self.constants if type_ in (None, v.type)]
        if not pool:
            pool = [self.variable(type_ or FLOAT)]
            self.variables += pool
        found = pool[self.pick(0, len(pool) - 1)]
        for _ in range(self.pick(0, views)):
            found = self.viewed(found, True)
        return found

    def target(self, type_: Type | None = None, whole: bool = False) -> View:
        """A view of a variable in which no element comes twice."""
        pool = [v for v in self.variables if type_ in (None, v.type)]
        if not pool:
            pool = [self.variable(type_ or FLOAT)]
            self.variables += pool
        found = pool[self.pick(0, len(pool) - 1)]
        for _ in range(0 if whole else self.pick(0, 2)):
            found = self.viewed(found, False)
        return found

    def viewed(self, v: View, repeats: bool) -> View:
        t, axis = v.tensor, self.pick(0, max(v.tensor.rank() - 1, 0))
        size = t.dim(axis) if t.rank() else 1
        way = self.pick(0, 6 if repeats else 4)
        if t.rank() == 0:
            return v.flat
        if way == 0:
            begin = self.pick(0, size - 1)
            end = self.pick(begin + 1, size)
            cut = (slice(None),) * axis + (slice(begin, end),)
            return v.on(lambda c: c[cut], t.slice(begin, end, axis))
        if way == 1:
            return v.on(np.transpose, t.transpose())
        if way == 2:
            return v.on(lambda c: np.flip(c, axis), t.reverse(axis))
        if way == 3:
            return v.flat
        if way == 4:
            step = self.pick(1, 3)
            cut = (slice(None),) * axis + (slice(None, None, step),)
            return v.on(lambda c: c[cut], t.subSample(step, axis))
        if way == 5 and v.cells.size < 300:
            n = self.pick(1, 3)
            return v.on(lambda c: np.concatenate([c] * n, axis), t.broadcast(n, axis))
        pool = [w.flat for w in self.variables + self.constants if w.type is v.type]
        other = pool[self.pick(0, len(pool) - 1)] if pool and v.cells.size < 300 else v.flat
        return View(concat([v.tensor.flatten(), other.tensor]), np.append(v.cells.reshape(-1), other.cells), v.type)

    def pair(self) -> tuple[View, View] | None:
        """(source, target) of one type and size that share nothing."""
        target = self.target()
        source = self.source(target.type).flat
        free = np.flatnonzero(~np.isin(source.cells, target.cells))
        keep = len(free) == source.cells.size
        if not keep:
            return None
        n = min(source.cells.size, target.cells.size)
        target = target.flat
        return (
            View(source.tensor.slice(0, n), source.cells[:n], source.type),
            View(target.tensor.slice(0, n), target.cells[:n], target.type),
        )

    # ---- programs ----------------------------------------------------------------------------------------------

    def fill_body(self, body: Body, steps: int, depth: int) -> None:
        kinds = [
            self.copy,
            self.elementwise,
            self.in_place,
            self.unary,
            self.scaled_add,
            self.reduce,
            self.product,
            self.cast,
            self.fill,
            self.vertices,
            self.vertices,
            self.rows,
            self.stream_in,
            self.stream_out,
            self.undefined,
        ]
        for _ in range(steps):
            kind = self.pick(0, len(kinds) + (2 if depth else 0) - 1)
            if kind < len(kinds):
                kinds[kind](body)
            elif kind == len(kinds):
                self.repeat(body, depth - 1)
            else:
                self.call(body, depth - 1)

    def repeat(self, body: Body, depth: int) -> None:
        inner, count = Body(), self.pick(0, 3)
        known = len(self.made)
        self.fill_body(inner, self.pick(1, 4), depth)
        if count == 0:
            del self.made[known:]  # never computed

        def act(memory: Memory) -> None:
            for _ in range(count):
                inner.run(memory)

        if inner.acts:
            body.add(Repeat(count, inner.program), act)

    def call(self, body: Body, depth: int) -> None:
        inner = Body()
        self.fill_body(inner, self.pick(1, 3), depth)
        if not inner.acts:
            return
        function = self.graph.addFunction(inner.program)
        for _ in range(self.pick(1, 2)):
            body.add(Call(function), inner.run)
            if self.pick(0, 1):
                self.copy(body)
                body.program.add(Sync(SyncType.INTERNAL))

    def copy(self, body: Body) -> None:
        pair = self.pair()
        if pair:
            self.add_copy(body, *pair)

    def add_copy(self, body: Body, source: View, target: View) -> None:
        def act(m: Memory) -> None:
            m.write(target.cells, target.type, m.read(source.cells, source.type))

        body.add(Copy(source.tensor, target.tensor), act)

    def result(self, tensor: Tensor, shape: Any, type_: Type) -> View:
        assert tensor.shape() == list(shape)
        assert tensor.elementType() is type_
        view = View(tensor, self.memory.new(list(shape)), type_)
        self.made.append(view)
        return view

    def elementwise(self, body: Body) -> None:
        a = self.source()
        op = ("add", "sub", "mul", "max", "min")[self.pick(0, 4)]
        b = self.operand(a)
        out = self.result(
            getattr(popops, op)(self.graph, a.tensor, b.tensor, body.program, self.name(op)),
            np.broadcast_shapes(a.cells.shape, b.cells.shape),
            a.type,
        )

        def act(m: Memory) -> None:
            m.write(out.cells, a.type, slow.binary(op, m.read(a.cells, a.type), m.read(b.cells, b.type), a.type))

        body.acts.append(act)

    def operand(self, a: View) -> View:
        """Something that broadcasts with `a`: of its shape, one row, or one element."""
        rank, way = a.tensor.rank(), self.pick(0, 2)
        other = self.source(a.type).flat
        if way == 0 or other.cells.size < (a.cells.shape[-1] if rank else 1):
            return View(other.tensor.slice(0, 1), other.cells[:1], a.type)
        if way == 1 and rank:
            n = a.cells.shape[-1]
            return View(other.tensor.slice(0, n), other.cells[:n], a.type)
        return a.on(lambda c: np.flip(c, 0), a.tensor.reverse(0)) if rank else a

    def in_place(self, body: Body) -> None:
        pair = self.pair()
        if not pair:
            return
        b, a = pair
        op = ("add", "sub", "mul", "max", "min")[self.pick(0, 4)]
        getattr(popops, f"{op}InPlace")(self.graph, a.tensor, b.tensor, body.program, self.name(op))

        def act(m: Memory) -> None:
            m.write(a.cells, a.type, slow.binary(op, m.read(a.cells, a.type), m.read(b.cells, b.type), a.type))

        body.acts.append(act)

    def unary(self, body: Body) -> None:
        a = self.source()
        op = ("abs", "neg", "relu")[self.pick(0, 2 if a.type in (FLOAT, HALF) else 1)]
        if a.type is UNSIGNED_INT:
            return
        made = getattr(popops, op)(self.graph, a.tensor, body.program, self.name(op))
        out = self.result(made, a.cells.shape, a.type)
        body.acts.append(lambda m: m.write(out.cells, a.type, slow.unary(op, m.read(a.cells, a.type), a.type)))

    def scaled_add(self, body: Body) -> None:
        pair = self.pair()
        if not pair or pair[0].type not in (FLOAT, HALF):
            return
        b, a = pair
        scale = self.pick(-8, 8) / 4
        popops.scaledAddTo(self.graph, a.tensor, b.tensor, scale, body.program, self.name("scaled"))

        def act(m: Memory) -> None:
            m.write(a.cells, a.type, slow.scaled_add(m.read(a.cells, a.type), m.read(b.cells, b.type), scale, a.type))

        body.acts.append(act)

    def reduce(self, body: Body) -> None:
        a = self.source()
        rank = a.tensor.rank()
        if not rank:
            return
        axes = tuple(axis for axis in range(rank) if self.pick(0, 1)) or (self.pick(0, rank - 1),)
        op = ("ADD", "MAX", "MIN")[self.pick(0, 2)]
        made = popops.reduce(self.graph, a.tensor, list(axes), popops.Operation(op), body.program, self.name("reduce"))
        out = self.result(made, [n for axis, n in enumerate(a.cells.shape) if axis not in axes], a.type)

        def act(m: Memory) -> None:
            value, bound = slow.reduced(op, m.read(a.cells, a.type), axes, a.type)
            m.write(out.cells, a.type, (value.reshape(out.cells.shape), np.reshape(bound, out.cells.shape)))

        body.acts.append(act)

    def product(self, body: Body) -> None:
        type_ = (FLOAT, HALF)[self.pick(0, 1)]
        a, b = self.source(type_, 1), self.source(type_, 1)
        m_, k, n = self.pick(1, 7), self.pick(1, 9), self.pick(1, 7)
        if a.cells.size < m_ * k or b.cells.size < k * n:
            return
        a, b = self.matrix(a, m_, k), self.matrix(b, k, n)
        made = poplin.matMul(self.graph, a.tensor, b.tensor, body.program, self.name("product"))
        out = self.result(made, [m_, n], type_)
        body.acts.append(
            lambda m: m.write(out.cells, type_, slow.product(m.read(a.cells, type_), m.read(b.cells, type_), type_))
        )

    def matrix(self, v: View, rows: int, columns: int) -> View:
        """The first elements as a matrix, perhaps stored the other way round."""
        flat = v.flat
        part = View(flat.tensor.slice(0, rows * columns), flat.cells[: rows * columns], v.type)
        if self.pick(0, 1):
            return part.on(lambda c: c.reshape(columns, rows).T, part.tensor.reshape([columns, rows]).transpose())
        return part.on(lambda c: c.reshape(rows, columns), part.tensor.reshape([rows, columns]))

    def cast(self, body: Body) -> None:
        a, type_ = self.source(), TYPES[self.pick(0, 3)]
        if a.type is type_ or {a.type, type_} == {INT, UNSIGNED_INT}:
            return
        out = self.result(
            popops.cast(self.graph, a.tensor, type_, body.program, self.name("cast")), a.cells.shape, type_
        )
        body.acts.append(lambda m: m.write(out.cells, type_, slow.cast(m.read(a.cells, a.type), a.type, type_)))

    def fill(self, body: Body) -> None:
        t, value = self.target(), self.pick(0, 9)
        popops.fill(self.graph, t.tensor, body.program, value, self.name("fill"))
        values = np.full(t.cells.shape, value, DTYPE[t.type]), np.zeros(t.cells.shape)
        body.acts.append(lambda m: m.write(t.cells, t.type, values))

    def undefined(self, body: Body) -> None:
        """Forget a variable, then write all of it."""
        pool = [v for v in self.variables if v.cells.size]
        t = pool[self.pick(0, len(pool) - 1)]
        body.program.add(WriteUndef(t.tensor))
        popops.fill(self.graph, t.tensor, body.program, 3, self.name("fill"))
        values = np.full(t.cells.shape, 3, DTYPE[t.type]), np.zeros(t.cells.shape)
        body.acts.append(lambda m: m.write(t.cells, t.type, values))

    def vertices(self, body: Body) -> None:
        """y = f(x) in pieces on random tiles."""
        pair = self.pair()
        if not pair:
            return
        x, y = pair
        name = ("Twice", "Blend", "Mirror", "Step")[self.pick(0, 3)]
        self.learn(x.type)
        cs = self.graph.addComputeSet(self.name(name))
        size, n = self.pick(1, 9), x.cells.size
        for begin in range(0, n, size):
            end = min(begin + size, n)
            edges: dict[str, Any] = {"x": x.tensor.slice(begin, end), "y": y.tensor.slice(begin, end)}
            if name == "Step":
                edges["by"] = 2
            vertex = self.graph.addVertex(cs, f"{name}_{x.type.name}", edges)
            self.graph.setTileMapping(vertex, self.tile())

        def act(m: Memory) -> None:
            given, old = m.read(x.cells, x.type), m.read(y.cells, y.type)
            if name == "Mirror":
                order = np.concatenate([np.arange(b, min(b + size, n))[::-1] for b in range(0, n, size)])
                result = given[0][order], given[1][order]
            elif name == "Blend":
                result = slow.binary("add", old, given, x.type)
            elif name == "Twice":
                result = slow.each(lambda v: v + v, given, 2, x.type)
            else:
                result = slow.each(lambda v: v + v.dtype.type(2), given, 1, x.type)
            m.write(y.cells, y.type, result)

        body.add(Execute(cs), act)

    def rows(self, body: Body) -> None:
        """Vectors of edges: sums of rows from several places, and a vector of single elements."""
        pair = self.pair()
        if not pair:
            return
        x, y = pair
        self.learn(x.type)
        cs = self.graph.addComputeSet(self.name("rows"))
        n = self.pick(1, min(5, y.cells.size))
        starts = [self.pick(0, x.cells.size - n) for _ in range(self.pick(1, 4))]
        edges: dict[str, Any] = {"rows": [x.tensor.slice(s, s + n) for s in starts], "y": y.tensor.slice(0, n)}
        vertex = self.graph.addVertex(cs, f"RowSum_{x.type.name}", edges)
        self.graph.setTileMapping(vertex, self.tile())
        single = y.cells.size > n
        if single:
            edges = {"parts": [x.tensor[s] for s in starts], "out": y.tensor[n]}
            self.graph.setTileMapping(self.graph.addVertex(cs, f"First_{x.type.name}", edges), self.tile())

        def act(m: Memory) -> None:
            parts = [m.read(x.cells[s : s + n], x.type) for s in starts]
            total, bound = wide_sum(parts)
            m.write(y.cells[:n], y.type, slow.settled(total, bound, y.type))
            if single:
                m.write(y.cells[n : n + 1], y.type, m.read(x.cells[starts[-1] : starts[-1] + 1], x.type))

        body.add(Execute(cs), act)

    def learn(self, type_: Type) -> None:
        if type_ not in self.known:
            self.graph.addCodelets(codelets(type_))
            self.known.add(type_)

    def stream_in(self, body: Body) -> None:
        t, handle = self.target(), self.name("in")
        data = self.numbers(t.type, t.cells.size * self.pick(1, 3)).reshape(-1, t.cells.size)
        self.inputs[handle], self.read[handle] = data, 0
        stream = self.graph.addHostToDeviceFIFO(handle, t.type, t.cells.size)

        def act(m: Memory) -> None:
            row = data[self.read[handle] % len(data)]
            self.read[handle] += 1
            m.write(t.cells, t.type, (row.reshape(t.cells.shape), np.zeros(t.cells.shape)))

        body.add(Copy(stream, t.tensor), act)

    def stream_out(self, body: Body) -> None:
        s, handle = self.source(), self.name("out")
        self.outputs[handle] = []
        stream = self.graph.addDeviceToHostFIFO(handle, s.type, s.cells.size)

        def act(m: Memory) -> None:
            value, bound = m.read(s.cells, s.type)
            self.outputs[handle].append((value.reshape(-1), bound.reshape(-1)))

        body.add(Copy(s.tensor, stream), act)

    def keep_results(self) -> None:
        """Copy a few results of libraries into variables of their own, so that the host can look at them."""
        for _ in range(min(3, len(self.made))):
            v = self.made[self.pick(0, len(self.made) - 1)]
            if v.cells.size == 0:
                continue
            kept = self.variable(v.type, list(v.cells.shape) or [1])
            self.variables.append(kept)
            self.add_copy(self.body, v.flat, kept.flat)


def wide_sum(parts: list[Any]) -> Any:
    values = [slow.wide(p[0]) for p in parts]
    return sum(values[1:], values[0]), sum(p[1] for p in parts)
