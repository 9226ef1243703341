"""NumPy arrays for the parameters of a program: element types, checks, drawn inputs."""

import zlib
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType, Signedness
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.extents import extent_symbols, extent_value
from cubelane.ir.kernel import Direction, direction_of
from cubelane.ir.types import DYNAMIC, TensorType, TileType, bit_width, dtype_name, is_float

Array = Any

_FLOATS: dict[str, Any] = {
    "FP16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "FP32": np.float32,
    "FP4": ml_dtypes.float4_e2m1fn,
    "FP8E4M3FN": ml_dtypes.float8_e4m3fn,
    "FP8E5M2": ml_dtypes.float8_e5m2,
    "FP8E8M0": ml_dtypes.float8_e8m0fnu,
}


def array_dtype(dtype: Attribute) -> np.dtype[Any]:
    """The NumPy element type (real bf16 and fp8) of an element type."""
    if isinstance(dtype, IndexType):
        return np.dtype(np.int64)
    if isa(dtype, IntegerType):
        width, unsigned = dtype.width.data, dtype.signedness.data is Signedness.UNSIGNED
        if width == 1:
            return np.dtype(np.bool_)
        if width == 4:
            return np.dtype(ml_dtypes.uint4 if unsigned else ml_dtypes.int4)
        return np.dtype(f"{'uint' if unsigned else 'int'}{width}")
    return np.dtype(_FLOATS[dtype_name(dtype)])


def parameter_names(function: FuncOp) -> list[str]:
    """Names of the parameters, as the user wrote them."""
    return [a.name_hint or f"arg{i}" for i, a in enumerate(function.body.block.args)]


@dataclass(frozen=True)
class Parameter:
    """What an executor must know of a parameter. `shape` is None for a scalar.

    A parameter that is not `owned` is only read: its argument may share memory with what was given.
    """

    name: str
    type_: Attribute
    shape: tuple[int | str, ...] | None
    dtype: np.dtype[Any]
    owned: bool

    def takes(self, array: Array) -> bool:
        """Whether an array is just what the type states, with no extent left open."""
        return array.shape == self.shape and array.dtype == self.dtype


class Signature:
    """The parameters of a function, read off once. `owned` names those that must be copies (None: all)."""

    def __init__(self, function: FuncOp, owned: Container[str] | None = None):
        self.function = function
        self.parameters: list[Parameter] = []
        self.outputs = written_parameters(function)
        for name, argument in zip(parameter_names(function), function.body.block.args, strict=True):
            type_ = argument.type
            copied = owned is None or name in owned
            if isinstance(type_, TensorType | TileType):
                self.parameters.append(Parameter(name, type_.dtype, type_.shape, array_dtype(type_.dtype), copied))
            else:
                self.parameters.append(Parameter(name, type_, None, array_dtype(type_), copied))
        self.names = [p.name for p in self.parameters]
        self.undefined = [n for i, n in enumerate(self.names) if direction_of(function, i) is Direction.OUT]
        """The tensors that come without content."""

    def arguments(self, given: Mapping[str, Array]) -> dict[str, Any]:
        """The argument of every parameter: the given array, checked against the type, or a number.

        What the function may write is a copy. A tensor nobody gave is zeros (the work space of the rings). A
        Diagnostic names what does not fit.
        """
        symbols: dict[str, int] = {}
        return {p.name: self._argument(p, given, symbols) for p in self.parameters}

    def _argument(self, parameter: Parameter, given: Mapping[str, Array], symbols: dict[str, int]) -> Any:
        name, shape = parameter.name, parameter.shape
        if shape is None:
            if name not in given:
                raise _unfit(self.function, f"no value for the scalar parameter {name}")
            return float(given[name]) if is_float(parameter.type_) else int(given[name])
        if name not in given:
            known = [d for d in shape if isinstance(d, int) and d != DYNAMIC]
            if len(known) < len(shape):
                raise _unfit(self.function, f"no array for the parameter {name}")
            return np.zeros(known, parameter.dtype)
        array = np.array(given[name], copy=True if parameter.owned else None)
        if not parameter.takes(array):
            array = self._fitted(parameter, array, symbols)
        if not parameter.owned:
            array = array.view()
            array.flags.writeable = False
        return array

    def _fitted(self, parameter: Parameter, array: Array, symbols: dict[str, int]) -> Array:
        """An array whose open extents, and element type, must be looked at."""
        name, shape = parameter.name, parameter.shape or ()
        held = _held(array, parameter.dtype)
        if held is None:
            wanted = dtype_name(parameter.type_)
            raise _unfit(self.function, f"{name} must hold {wanted}, the array holds {array.dtype}")
        if len(shape) != array.ndim or not all(
            _matches(d, n, symbols) for d, n in zip(shape, array.shape, strict=True)
        ):
            raise _unfit(self.function, f"{name} must have the shape {list(shape)}, the array has {list(array.shape)}")
        return held


def _matches(extent: int | str, size: int, symbols: dict[str, int]) -> bool:
    """Whether an axis has the size its type states; a name gets its value from the first axis that has it."""
    if isinstance(extent, int):
        return extent in (size, DYNAMIC)
    known = extent_value(extent, symbols)
    if known is not None:
        return known == size
    symbols[extent] = size
    names = {name: value for name, value in symbols.items() if name.isidentifier()}
    return all(extent_value(sum_, names) in (None, value) for sum_, value in symbols.items())


def arguments_of(function: FuncOp, given: Mapping[str, Array]) -> dict[str, Any]:
    """The arguments of a function, all of them copies: see `Signature.arguments`."""
    return Signature(function).arguments(given)


def _held(array: Any, dtype: Any) -> Any:
    """The array in the element type of the parameter; None where a value would change.

    FP32 arrays of values that a narrower type holds exactly are common where a user has no BF16 of their own.
    """
    if array.dtype == dtype:
        return array
    if array.dtype.kind not in "fiu":
        return None
    narrow = array.astype(dtype)
    same = (narrow.astype(array.dtype) == array) | (array != array)
    return narrow if same.all() and np.can_cast(np.float32, array.dtype) else None


def _unfit(function: FuncOp, message: str) -> Diagnostic:
    return Diagnostic(f"{function.sym_name.data}: {message}", Location.of(function), code="wrong-input")


def written_parameters(function: FuncOp) -> list[str]:
    """Names of the parameters that a function may write (Out and InOut)."""
    names = parameter_names(function)
    return [n for i, n in enumerate(names) if direction_of(function, i) is not Direction.IN]


def _drawn(extent: int | str) -> int:
    """The size of an axis whose extent is not known: 64 for every name."""
    if isinstance(extent, int):
        return 64 if extent == DYNAMIC else extent
    return extent_value(extent, dict.fromkeys(extent_symbols(extent), 64)) or 64


def draw(function: FuncOp, seed: int = 0) -> dict[str, Any]:
    """Inputs for a function from its parameter types: small numbers with a fixed seed, marked outputs.

    Symbolic extents become 64, scalars 1. An Out parameter holds -77, so that a cell nobody wrote shows.
    """
    result: dict[str, Any] = {}
    for i, (name, argument) in enumerate(zip(parameter_names(function), function.body.block.args, strict=True)):
        type_ = argument.type
        if not isinstance(type_, TensorType | TileType):
            result[name] = 1.0 if is_float(type_) else 1
            continue
        shape = tuple(_drawn(d) for d in type_.shape)
        dtype = array_dtype(type_.dtype)
        if direction_of(function, i) is Direction.OUT:
            marker = -77 if is_float(type_.dtype) or bit_width(type_.dtype) > 4 else 5
            result[name] = np.full(shape, marker, np.float64).astype(dtype)
            continue
        # the numbers of a parameter depend on its name only, so that adding a parameter changes no other
        rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
        if is_float(type_.dtype):
            result[name] = rng.standard_normal(shape).astype(dtype)
        else:
            low, high = (0, 2) if bit_width(type_.dtype) == 1 else (0 if dtype.name.startswith("u") else -3, 4)
            result[name] = rng.integers(low, high, shape).astype(dtype)
    return result
