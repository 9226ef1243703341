"""NumPy arrays for the parameters of a program: element types, checks, drawn inputs."""

import zlib
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType, Signedness
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from cubelane.ir.diagnostic import Diagnostic, Location
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


def arguments_of(function: FuncOp, given: dict[str, Array]) -> dict[str, Any]:
    """The argument of every parameter: a copy of the given array, checked against the type, or a number.

    A tensor nobody gave is zeros (the work space of the rings). A Diagnostic names what does not fit.
    """
    result: dict[str, Any] = {}
    symbols: dict[str, int] = {}
    for name, argument in zip(parameter_names(function), function.body.block.args, strict=True):
        type_ = argument.type
        if not isinstance(type_, TensorType | TileType):
            if name not in given:
                raise _unfit(function, f"no value for the scalar parameter {name}")
            result[name] = float(given[name]) if is_float(type_) else int(given[name])
            continue
        shape = type_.shape
        if name not in given:
            known = [d for d in shape if isinstance(d, int) and d != DYNAMIC]
            if len(known) < len(shape):
                raise _unfit(function, f"no array for the parameter {name}")
            result[name] = np.zeros(known, array_dtype(type_.dtype))
            continue
        array = _held(np.array(given[name]), array_dtype(type_.dtype))
        if array is None:
            holds = np.asarray(given[name]).dtype
            raise _unfit(function, f"{name} must hold {dtype_name(type_.dtype)}, the array holds {holds}")
        fits = len(shape) == array.ndim and all(
            symbols.setdefault(d, n) == n if isinstance(d, str) else d in (n, DYNAMIC)
            for d, n in zip(shape, array.shape, strict=True)
        )
        if not fits:
            raise _unfit(function, f"{name} must have the shape {list(shape)}, the array has {list(array.shape)}")
        result[name] = array
    return result


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
        shape = tuple(d if isinstance(d, int) and d != DYNAMIC else 64 for d in type_.shape)
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
