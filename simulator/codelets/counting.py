"""Arrays that count the operations on them, for the costs of Python codelets without an estimate.

`counted` wraps the array of a field. Elements of a field lie in memory: reading one, or a whole array in an expression,
counts loads; assigning counts stores. Results of expressions are in registers. Every operation counts once per element,
by `simulator.machine.instructions`. Whole-array assignments and reductions count one loop trip per element, as a
compiler that fuses the expression would have; loops written in Python are counted by `simulator.codelets.count_run`.

Operations on plain numbers (`math.sqrt(x)`, `x.tolist()`) are not counted. An operation that cannot be counted raises
NotCountableError.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from simulator.arrays import AnyArray
from simulator.codelets.counted_functions import ARRAY_FUNCTIONS, OPERATION_OF, THROUGH, NotCountableError, TooLongError
from simulator.machine.instructions import BESIDE_BRANCH, IN_BUNDLE, OperationCounts

#: Counted events after which a run is ended.
MAXIMUM_EVENTS = 200_000


class Counter(OperationCounts):
    """Counts of one run, which ends with TooLongError when it takes too long."""

    def __init__(self) -> None:
        super().__init__()
        self.events = 0

    def add(self, operation: str, times: int = 1) -> None:
        self.step()
        super().add(operation, times)

    def step(self) -> None:
        """Count an event; raises TooLongError at the limit."""
        self.events += 1
        if self.events > MAXIMUM_EVENTS:
            raise TooLongError(f"takes more than {MAXIMUM_EVENTS:,} steps")


class CountedArray(np.ndarray[Any, Any]):
    """An array that reports to a counter. `in_memory`: its elements are those of a field; `half`: of two bytes."""

    counter: Counter
    in_memory: bool
    half: bool

    def __array_finalize__(self, obj: Any) -> None:
        if isinstance(obj, CountedArray):
            self.counter, self.in_memory, self.half = obj.counter, obj.in_memory, obj.half
        else:
            self.counter, self.in_memory, self.half = Counter(), False, False  # until `counted` sets them

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        counter = _counter_of(inputs, kwargs.get("out", ()))
        plain = [raw(x) for x in inputs]
        outs = kwargs.get("out")
        if outs is not None:
            kwargs["out"] = tuple(raw(x) for x in outs)
        result = getattr(ufunc, method)(*plain, **kwargs)
        if method == "__call__":
            _count_call(counter, ufunc, inputs, plain, result)
        elif method == "reduce":
            _read(counter, inputs[:1])
            operation = _operation(ufunc, plain[:1])
            counter.add(operation, np.size(plain[0]))
            counter.add("trip", np.size(plain[0]))
            counter.add(IN_BUNDLE, np.size(plain[0]) if operation in BESIDE_BRANCH else 0)
        else:
            raise NotCountableError(f"uses numpy.{ufunc.__name__}.{method}")
        if outs is not None:
            for out in outs:
                _written(counter, out, raw(out))
            return outs[0] if len(outs) == 1 else outs
        return tuple(register(r, counter) for r in result) if isinstance(result, tuple) else register(result, counter)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in THROUGH:
            return super().__array_function__(func, types, args, kwargs)
        rule = ARRAY_FUNCTIONS.get(func)
        if rule is None:
            raise NotCountableError(f"uses numpy.{func.__name__}")
        flat = [x for a in args for x in (a if isinstance(a, (list, tuple)) else [a])]
        _read(self.counter, flat)
        plain = [[raw(x) for x in a] if isinstance(a, (list, tuple)) else raw(a) for a in args]
        result = func(*plain, **{name: raw(value) for name, value in kwargs.items()})
        rule(self.counter, plain, result)
        return register(result, self.counter)

    def __getitem__(self, key: Any) -> Any:
        selected = self.view(np.ndarray)[raw_key(key)]
        if isinstance(selected, np.generic):
            self.counter.add("load", int(self.in_memory))
            return register(selected, self.counter)
        if selected.size == 0 or np.shares_memory(selected, self.view(np.ndarray)):
            return counted(selected, self.counter, half=self.half, in_memory=self.in_memory)
        self.counter.add("load", selected.size * (int(self.in_memory) + 1))
        return register(selected, self.counter)

    def __setitem__(self, key: Any, value: Any) -> None:
        _read(self.counter, [value])
        target = self.view(np.ndarray)
        place = raw_key(key)
        _written(self.counter, self, target[place])
        target[place] = raw(value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        self.counter.add("branch")
        return bool(self.view(np.ndarray))

    def dot(self, other: Any, out: Any = None) -> Any:
        return np.dot(self, other)

    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        return np.argmax(self, axis)

    def argmin(self, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        return np.argmin(self, axis)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return np.cumsum(self, axis)

    def copy(self, order: Any = "C") -> Any:
        _read(self.counter, [self])
        return register(self.view(np.ndarray).copy(), self.counter)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        _read(self.counter, [self])
        self.counter.add("convert", self.size)
        return register(self.view(np.ndarray).astype(dtype), self.counter)

    def sort(self, *args: Any, **kwargs: Any) -> None:
        raise NotCountableError("sorts")

    def argsort(self, *args: Any, **kwargs: Any) -> Any:
        raise NotCountableError("sorts")


def counted(values: AnyArray, counter: Counter, *, half: bool = False, in_memory: bool = True) -> CountedArray:
    """The array of a field, its elements of two bytes where `half`."""
    wrapped = np.asarray(values).view(CountedArray)
    wrapped.counter, wrapped.half, wrapped.in_memory = counter, half, in_memory
    return wrapped


def register(values: Any, counter: Counter) -> CountedArray:
    """A result in registers."""
    return counted(np.asarray(values), counter, in_memory=False)


def raw(value: Any) -> Any:
    """The value without its counter."""
    return value.view(np.ndarray) if isinstance(value, CountedArray) else value


def raw_key(key: Any) -> Any:
    """An index without counters."""
    if isinstance(key, tuple):
        return tuple(raw_key(part) for part in key)
    if isinstance(key, slice):
        return slice(raw_key(key.start), raw_key(key.stop), raw_key(key.step))
    if isinstance(key, CountedArray):
        plain = key.view(np.ndarray)
        return plain[()] if plain.ndim == 0 else plain
    return key


def _counter_of(inputs: Any, outs: Any) -> Counter:
    for value in (*inputs, *(outs or ())):
        if isinstance(value, CountedArray):
            return value.counter
    raise NotCountableError("makes arrays that cannot be counted")


def _read(counter: Counter, values: Any) -> None:
    for value in values:
        if isinstance(value, CountedArray) and value.in_memory:
            counter.add("load", value.size)


def _written(counter: Counter, target: Any, part: Any) -> None:
    """The part of an array that is assigned; only elements of fields are stored, whole arrays in a loop."""
    if isinstance(target, CountedArray) and target.in_memory:
        counter.add("store half" if target.half else "store", int(np.size(part)))
        counter.add("trip", int(np.size(part)) if np.ndim(part) else 0)


def _count_call(counter: Counter, ufunc: np.ufunc, inputs: Any, plain: list[Any], result: Any) -> None:
    if ufunc is np.matmul:
        products = int(np.size(result)) * int(np.shape(plain[0])[-1])
        count_products(counter, products, np.result_type(*plain))
        return
    _read(counter, inputs)
    first = result[0] if isinstance(result, tuple) else result
    counter.add(_operation(ufunc, plain), int(np.size(first)))


def count_products(counter: Counter, products: int, dtype: np.dtype[Any]) -> None:
    """Multiply-accumulates whose operands are read anew each time."""
    floating = dtype.kind == "f"
    counter.add("load", 2 * products)
    counter.add("float multiply" if floating else "integer multiply", products)
    counter.add("float add" if floating else "integer", products)
    counter.add("trip", products)
    counter.add(IN_BUNDLE, products if floating else 0)


def _operation(ufunc: np.ufunc, plain: list[Any]) -> str:
    floating = np.result_type(*plain).kind == "f" if plain else False
    names = OPERATION_OF.get(ufunc)
    name = None if names is None else names[0 if floating else 1]
    if name is None:
        raise NotCountableError(f"uses numpy.{ufunc.__name__} on {np.result_type(*plain)}")
    return name
