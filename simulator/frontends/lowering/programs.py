"""Programs of a module: weights and streams around the forward and backward passes, in the order of PopART's programs.

    Main: Repeat "batchesPerStep" ( Repeat "accumulationLoop" ( "program" ), "update" )
    "program": "preForward" (inputs), "forward", "backward", "toHost" (outputs)

Weights and inputs get their places when the first operator reads them, so that a weight lies as its product wants it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace

from simulator.base.errors import poplar_error
from simulator.frontends.captured import Input, Operator, Program, Value, Weight, values_with_gradient
from simulator.frontends.lowering.cursor import Building
from simulator.frontends.lowering.differentiation import Tape
from simulator.frontends.lowering.element_types import element_type
from simulator.frontends.lowering.in_place import with_updates_in_place
from simulator.frontends.lowering.loss_scaling import LossScaling
from simulator.frontends.lowering.lowered import (
    Entry,
    Interface,
    Lowered,
    Observed,
    Outputs,
    OutputStream,
    Settings,
    Stream,
    StreamPair,
)
from simulator.frontends.lowering.pipeline import Pipeline, check_loss, stages_in_order, stages_of
from simulator.frontends.lowering.shards import Execution, Shards, Spot, ipus_of, placed
from simulator.frontends.lowering.update_steps import Update, Updated
from simulator.poplar import (
    UNSIGNED_INT,
    FloatingPointBehaviour,
    Graph,
    ReplicatedStreamMode,
    Target,
    Tensor,
    getAndModifyFloatingPointBehaviour,
    replication_factor,
    setFloatingPointBehaviour,
    setStochasticRounding,
)
from simulator.poplar import program as programs
from simulator.poplibs import gcl, popops, poputil


class ObservationError(poplar_error):
    """A tensor or a period that a program cannot observe."""


class ModuleLowering:
    """Builds the graph of one captured program. `update` adds the optimizer's step; without it the program infers."""

    def __init__(self, target: Target, program: Program, settings: Settings, update: Update | None = None) -> None:
        if settings.outputs is Outputs.EVERY_N and settings.iterations % settings.period:
            raise ObservationError(
                f"Outputs every {settings.period} iterations do not divide the {settings.iterations} iterations of a "
                "run; choose a period that does."
            )
        self.captured, self.settings, self.update = placed(program), settings, update
        self.graph = Graph(target, replication_factor(settings.replicas))
        self.seed = self._seed()
        self.execution = self._execution()
        self.at = Building(self.graph, self.execution, update is not None, settings.precision, settings.front_end)
        self.at.sends_data = not settings.synthetic_data
        self._weights: dict[int, Weight] = {weight.value.number: weight for weight in program.weights}
        self._inputs: dict[int, Input] = {one.value.number: one for one in program.inputs}
        with_gradient = values_with_gradient(program) if update else set()
        self.loss_scaling = LossScaling(self.at, settings)
        self.tape = Tape(self.at, self._place_value, self._name, with_gradient, self.captured.hooks)
        if settings.automatic_loss_scaling:
            self.tape.track = self.loss_scaling.track
        self.states_with_gradients: set[str] = set()  #: weights whose accumulator is a state of the optimizer
        self.output_copies: dict[int, Tensor] = {}  #: outputs that are views of what the step writes, by number

    def _execution(self) -> Execution:
        """How the operators share IPUs and time. A pipeline takes them in the order of its stages."""
        program = self.captured

        def has_draws() -> bool:
            return self.at.draws > 0

        stages = stages_of(program) if self.settings.pipelined else ()
        if len(stages) < 2:
            return Shards(self.graph, ipus_of(program), self.seed, has_draws)
        self.captured = replace(program, operators=stages_in_order(program.operators))
        check_loss(self.captured, len(stages))
        changing = {name for name, _ in program.updates}
        fixed = {one.value.number for one in program.weights if not changing & {one.name, *one.aliases}}
        return Pipeline(self.graph, stages, self.update is not None, fixed, self.seed, has_draws)

    def lower(self) -> Lowered:
        """The graph and its programs. Raises UnknownOperatorError, PlacementError."""
        self.tape.forward(self._operators())
        for weight in self.captured.weights:
            self.tape.tensor(weight.value)
        updated = self._step()
        states, rates = updated.states, updated.rates
        main, outputs, observed, written = self._main()
        weights = {weight.name: self.tape.tensor(weight.value) for weight in self.captured.weights}
        from_host, to_host = self._transfers({**weights, **states}, "weightsFromHost", "weightsToHost")
        rates_from_host, _ = self._transfers(rates, "optimizerFromHost", "")
        seed_from_host, seed_to_host = self._transfers(
            {"randomSeed": self.seed}, "randomSeedFromHost", "randomSeedToHost"
        )
        self._separate_seeds(seed_from_host)
        entries = {
            Entry.WEIGHTS_FROM_HOST: from_host,
            Entry.OPTIMIZER_FROM_HOST: rates_from_host,
            Entry.SEED_FROM_HOST: seed_from_host,
            Entry.MAIN: main,
            Entry.WEIGHTS_TO_HOST: to_host,
            Entry.SEED_TO_HOST: seed_to_host,
        }
        interface = Interface(
            self.settings,
            {one.name: self._input_stream(one) for one in self.captured.inputs},
            outputs,
            observed,
            {name: _pair(name, tensor) for name, tensor in weights.items()},
            {name: _pair(name, tensor) for name, tensor in states.items()},
            {name: _pair(name, tensor).from_host for name, tensor in rates.items()},
            _pair("randomSeed", self.seed),
            dict(updated.first_values),
            tuple(self._observable()),
            written,
        )
        return Lowered(self.graph, tuple(entries[entry] for entry in Entry), interface)

    def _operators(self) -> Iterable[Operator]:
        """Those of the step; where no gradients follow, weights change in place."""
        if self.update is not None or isinstance(self.execution, Pipeline):
            return self.captured.operators
        return with_updates_in_place(self.captured, self.tape.tensors)

    # Places of weights and inputs

    def _place_value(self, value: Value, layout: Tensor | None) -> Tensor | None:
        """The tensor of a weight or input, laid out like `layout` or spread in order; inputs are streamed in first."""
        if value.number not in self._weights and value.number not in self._inputs:
            return None
        if layout is None:
            tensor = self.at.graph.addVariable(element_type(value.dtype), list(value.shape), self._name(value))
            poputil.map_from_hashed_tile(self.at.graph, tensor)
        else:
            tensor = layout
        return tensor

    def _name(self, value: Value) -> str:
        """That of a weight or input, "" for other values."""
        named = self._weights.get(value.number) or self._inputs.get(value.number)
        return named.name if named is not None else ""

    def _seed(self) -> Tensor:
        """The seed of random draws. Its first word goes on with each micro-batch (shards.SEED_STEP)."""
        seed = self.graph.addVariable(UNSIGNED_INT, [2], "randomSeed")
        self.graph.setTileMapping(seed, 0)
        return seed

    def _separate_seeds(self, seed_from_host: programs.Sequence) -> None:
        """Add a replica's number to the second word of its seed, so that replicas draw different numbers. That of
        replica 0, which the host reads back, stays as it is."""
        if self.settings.replicas == 1:
            return
        index = self.graph.addReplicationIndexConstant("randomSeed/replica")
        self.graph.setTileMapping(index, 0)
        high = self.seed[1].reshape([1])
        with self.at.part("randomSeedFromHost", "HostLoad"):
            popops.addInPlace(self.graph, high, index.reshape([1]), seed_from_host, "randomSeed/replica/add")

    # The step

    def _step(self) -> Updated:
        """The parts of one iteration around its micro-batches, `before` and `after`; returns the optimizer's tensors. A
        sequence is added where it is complete: `add` copies it."""
        updated = Updated()
        self.before = programs.Sequence(debugContext="zeroAccumulators")
        self.after = programs.Sequence(debugContext="update")
        self.loss_scaling.begin(self.before)
        gradients = self._gradients(self.before) if self.update is not None else {}
        with self.at.part("buffers", "CopyVarUpdate"):
            self._update_buffers()
        with self.at.part("randomSeed", "ModifyRandomSeed"):
            self.execution.advance_seed()
        if not self.settings.synthetic_data:
            for one in self.captured.inputs:
                if one.value.elements:
                    self._stream_in(one)
        if self.update is not None:
            self.at.leave_operators(self.after)
            self._reduce(gradients)
            updated = self.update(self.at, gradients).joined(self.loss_scaling)
            self.loss_scaling.end()
        return updated

    def _update_buffers(self) -> None:
        """Write what the step gives to buffers. Values may be views of the buffers and of weights: those that another
        write would change are copied first."""
        writes = []
        for name, value in self.captured.updates:
            weight = next(one for one in self.captured.weights if name in (one.name, *one.aliases))
            new, target = self.tape.tensor(value), self.tape.tensor(weight.value)
            if new is not target:  # a norm that infers leaves its statistics as they are
                writes.append((name, value, new, target))
        written = set().union(*(_variables(target) for _, _, _, target in writes))
        for number, (name, value, new, target) in enumerate(writes):
            if written & _variables(new):
                writes[number] = name, value, self._copied(value, new), target
        if self.update is not None:
            trained = [self.tape.tensor(weight.value) for weight in self.captured.weights if weight.trained]
            written = written.union(*(_variables(weight) for weight in trained))
        for value in self.captured.results():
            tensor = self.tape.tensor(value)
            if written & _variables(tensor):
                self.output_copies[value.number] = self._copied(value, tensor)
        for name, value, new, target in writes:
            last = self.execution.last_program(self.tape.homes[value.number])
            last.add(programs.Copy(new, target, False, f"{name}/update"))

    def _copied(self, value: Value, tensor: Tensor) -> Tensor:
        """The value as it is before weights and buffers change."""
        home = self.tape.homes[value.number]
        return poputil.duplicate(self.execution.graph(home), tensor, self.execution.program(home), "beforeUpdate")

    def _gradients(self, before: programs.Sequence) -> dict[str, tuple[Tensor, Tensor]]:
        """Weights and their gradients by name; with accumulation the sums over micro-batches."""
        loss = self.captured.loss
        assert loss is not None, "a training program has a loss"
        share = 1.0 / self.settings.accumulation if self.settings.mean_over_accumulation else 1.0
        home = self.execution.slope_spot(self.tape.homes[loss.number])
        with self.at.at_spot(home):
            slope = self.loss_scaling.slope(loss.dtype, loss.shape, share)
        self.tape.backward(loss, slope)
        gradients = {}
        for weight in self.captured.weights:
            if not weight.trained or weight.value.number not in self.tape.slopes:
                continue
            slope = self.tape.slopes[weight.value.number]
            if self.settings.accumulation > 1:
                with self.at.weight_part(weight.name, "Accumulate"):
                    slope = self._accumulated(weight, slope, before)
            gradients[weight.name] = (self.tape.tensor(weight.value), slope)
        return gradients

    def _accumulated(self, weight: Weight, slope: Tensor, before: programs.Sequence) -> Tensor:
        """The sum of a weight's gradients over the micro-batches of a step."""
        spot, name = self.execution.slope_spot(self.tape.homes[weight.value.number]), f"Accum___{weight.name}"
        graph = self.execution.graph(spot)
        like, chosen = self.tape.tensor(weight.value), self.settings.accumulator_type
        assert self.update is not None
        if self.settings.group_of(weight.name) is None:
            share = 1.0 if self.settings.mean_over_replicas else float(self.settings.replicas)
            with self.at.at_spot(spot):
                state = self.update.accumulated(self.at, weight.name, like, slope, before, share)
            if state is not None:
                self.states_with_gradients.add(weight.name)
                return state
        type_ = element_type(chosen) if chosen else like.elementType()
        total = graph.clone(type_, like, name)
        popops.zero(graph, total, before, f"{name}/zero")
        if slope.elementType() != type_:
            slope = popops.cast(graph, slope, type_, self.execution.program(spot), f"{name}/cast")
        popops.addInPlace(graph, total, slope, self.execution.program(spot), f"{name}/add")
        return total

    def _reduce(self, gradients: Mapping[str, tuple[Tensor, Tensor]]) -> None:
        """Add the gradients of all replicas, or of those that share the weight; with the mean they are divided by the
        number of all, as PopTorch divides the loss. A state that is the accumulator is the mean of all."""
        if self.settings.replicas == 1:
            return
        for name, (_, slope) in gradients.items():
            context = f"ReplicatedAllReduce___{name}"
            with self.at.weight_part(name, "ReplicatedAllReduce"):
                add, program = gcl.CollectiveOperator.ADD, self.at.program
                group = self.settings.group_of(name)
                gcl.allReduceInPlaceCrossReplica(self.graph, slope, add, program, context, group=group)
                if self.settings.mean_over_replicas or name in self.states_with_gradients:
                    popops.mulInPlace(self.graph, slope, 1.0 / self.settings.replicas, program, f"{context}/mean")

    # Streams

    def _input_stream(self, one: Input) -> Stream:
        return Stream(f"h2d_{one.name}", one.value.shape, one.value.dtype)

    def _stream_in(self, one: Input) -> None:
        tensor = self.tape.tensor(one.value)
        name = self._input_stream(one).handle
        begin = self.execution.begin(self.tape.homes[one.value.number])
        with self.at.part(f"inputs/{one.name}", "HostLoad"):
            fifo = self.graph.addHostToDeviceFIFO(name, tensor.elementType(), tensor.numElements())
            begin.add(programs.Copy(fifo, tensor, False, name))

    def _main(
        self,
    ) -> tuple[programs.Program, tuple[OutputStream, ...], Mapping[str, OutputStream], Mapping[str, OutputStream]]:
        """The program of one run, and the streams that it fills: outputs, observed tensors and written inputs."""
        sent: list[OutputStream] = []
        names = ("toHostEveryN", "toHostFinalCopy", "init")
        period, last, start = (programs.Sequence(debugContext=name) for name in names)
        chosen = self.settings
        named = zip(self.captured.output_names, self.captured.outputs, strict=True)
        for name, value in named:
            tensor = self.output_copies.get(value.number, self.tape.tensor(value))
            how = (self.execution.end(self.tape.homes[value.number]), period, last, start)
            with self.at.part(f"outputs/{name}", "HostStore"):
                sent.append(self._send(name, tensor, value, chosen.outputs, chosen.period, how))
        observed = {}
        for one in chosen.observed:
            if one.outputs is Outputs.EVERY_N and (chosen.outputs, chosen.period) != (Outputs.EVERY_N, one.period):
                raise ObservationError(
                    f"The tensor {one.tensor} is observed every {one.period} iterations, which the outputs are not; "
                    f"give the outputs the mode EveryN with the period {one.period} too."
                )
            tensor, value, home = self._observed_tensor(one)
            how = (self.execution.end(home), period, last, start)
            with self.at.part(f"outputs/{one.handle}", "HostStore"):
                observed[one.handle] = self._send(one.handle, tensor, value, one.outputs, one.period, how)
        written = {}
        for name, value in self.captured.written_inputs:
            tensor = self.output_copies.get(value.number, self.tape.tensor(value))
            how = (self.execution.end(self.tape.homes[value.number]), period, last, start)
            with self.at.part(f"inputs/{name}", "HostStore"):
                written[name] = self._send(f"{name}/written", tensor, value, Outputs.ALL, 1, how)
        return self._loops(start, period, last), tuple(sent), observed, written

    def _set_arithmetic(self, main: programs.Sequence) -> None:
        """Turn on stochastic rounding and exceptions for the run, where the options want them."""
        chosen = self.settings.precision
        if chosen.floating_point is not None:
            setFloatingPointBehaviour(self.graph, main, chosen.floating_point, "setFloatingPointBehaviour")
        if chosen.stochastic_rounding:
            setStochasticRounding(self.graph, main, True, "enableStochasticRounding")
        if chosen.floating_point_exceptions:
            invalid = FloatingPointBehaviour(inv=True, div0=True, oflo=True, esr=False, nanoo=False)
            nothing = FloatingPointBehaviour(False, False, False, False, False)
            context = "enableFloatingPointChecks"
            getAndModifyFloatingPointBehaviour(self.graph, main, nothing, invalid, context)

    def _loops(self, start: programs.Sequence, period: programs.Sequence, last: programs.Sequence) -> programs.Program:
        """Nest the loops: accumulation inside iterations."""
        step = programs.Sequence(debugContext="step")
        step.add(self.before)
        lasting = [self.tape.tensor(weight.value) for weight in self.captured.weights]
        with self.at.part("pipeline", "Stash") if isinstance(self.execution, Pipeline) else nullcontext():
            step.add(self.execution.step(self._micro_batches(), lasting))
        step.add(self.after)
        main = programs.Sequence(debugContext="outer")
        self._set_arithmetic(main)
        main.add(start)
        main.add(self._repeated(step, period))
        main.add(last)
        return main

    def _micro_batches(self) -> int:
        """Those of one step: a pipeline for inference takes all that it can at once."""
        chosen = self.settings
        if self.update is not None or not isinstance(self.execution, Pipeline):
            return chosen.accumulation
        return chosen.accumulation * (chosen.period if chosen.outputs is Outputs.EVERY_N else chosen.iterations)

    def _repeated(self, step: programs.Sequence, period: programs.Sequence) -> programs.Program:
        chosen = self.settings
        iterations = chosen.iterations * chosen.accumulation // self._micro_batches()
        if chosen.outputs is not Outputs.EVERY_N:
            return programs.Repeat(iterations, step, "batchesPerStep")
        steps = iterations * chosen.period // chosen.iterations
        several = programs.Sequence(debugContext="everyN")
        several.add(programs.Repeat(steps, step, "batchesPerStep"))
        several.add(period)
        return programs.Repeat(chosen.iterations // chosen.period, several, "everyNBatches")

    def _send(
        self,
        name: str,
        tensor: Tensor,
        value: Value,
        outputs: Outputs,
        period: int,
        parts: tuple[programs.Sequence, programs.Sequence, programs.Sequence, programs.Sequence],
    ) -> OutputStream:
        each, every_n, last, start = parts
        chosen = self.settings
        handle = f"d2h_{name}"
        transfers = 1
        if outputs is Outputs.ALL:
            sequence, transfers = each, chosen.iterations * chosen.accumulation
        elif outputs is Outputs.EVERY_N:
            sequence, transfers = every_n, chosen.iterations // period
        elif outputs is Outputs.SUM:
            total = self.graph.clone(tensor, f"{name}/sum")
            popops.zero(self.graph, total, start, f"{name}/sum/zero")
            popops.addInPlace(self.graph, total, tensor, each, f"{name}/sum/add")
            sequence, tensor = last, total
        else:
            sequence = last
        stream = Stream(handle, value.shape, value.dtype)
        if not chosen.synthetic_data and tensor.numElements():
            fifo = self.graph.addDeviceToHostFIFO(handle, tensor.elementType(), tensor.numElements())
            sequence.add(programs.Copy(tensor, fifo, False, handle))
        return OutputStream(stream, transfers)

    def _transfers(
        self, tensors: Mapping[str, Tensor], from_host: str, to_host: str
    ) -> tuple[programs.Sequence, programs.Sequence]:
        """Programs that fill tensors from the host, and that send them back (if `to_host` has a name)."""
        inwards, outwards = programs.Sequence(debugContext=from_host), programs.Sequence(debugContext=to_host)
        for name, tensor in tensors.items():
            if not tensor.numElements():
                continue
            type_, elements, pair = tensor.elementType(), tensor.numElements(), _pair(name, tensor)
            read, written = pair.from_host.handle, pair.to_host.handle
            with self.at.part(from_host, "HostLoad"):
                is_grouped = self.settings.group_of(name) is not None
                mode = ReplicatedStreamMode.REPLICATE if is_grouped else ReplicatedStreamMode.BROADCAST
                fifo = self.graph.addHostToDeviceFIFO(read, type_, elements, mode)
                inwards.add(programs.Copy(fifo, tensor, False, read))
            if to_host:
                with self.at.part(to_host, "HostStore"):
                    back = self.graph.addDeviceToHostFIFO(written, type_, elements)
                    outwards.add(programs.Copy(tensor, back, False, written))
        return inwards, outwards

    # What the user may watch

    def _observable(self) -> list[str]:
        names = [weight.name for weight in self.captured.weights]
        names += [f"Gradient___{one.name}" for one in self.captured.weights if one.value.number in self.tape.slopes]
        return names

    def _observed_tensor(self, one: Observed) -> tuple[Tensor, Value, Spot]:
        """A tensor, its value and where it is made."""
        prefix = "Gradient___"
        wanted = one.tensor.removeprefix(prefix)
        for weight in self.captured.weights:
            if wanted in (weight.name, *weight.aliases):
                tensor, home = self.tape.tensor(weight.value), self.tape.homes[weight.value.number]
                if one.tensor.startswith(prefix):
                    return self.tape.slopes[weight.value.number], weight.value, self.execution.slope_spot(home)
                return tensor, weight.value, home
        names = self._observable()
        listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        raise ObservationError(f"The program has no tensor {one.tensor!r} to observe; it has {listed}.")


def _variables(tensor: Tensor) -> set[int]:
    """The variables of the graph that a tensor is a view of."""
    return set(tensor.view.variables())


def _pair(name: str, tensor: Tensor) -> StreamPair:
    shape, dtype = tuple(tensor.shape()), tensor.elementType().dtype.name
    return StreamPair(Stream(f"h2d_{name}", shape, dtype), Stream(f"d2h_{name}", shape, dtype))
