"""The `pl` language: what kernel files import.

    import cubelane.language as pl

Importing it is cheap; the parser and the op classes are loaded when they are first needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cubelane.language.vocabulary import (
    BF16,
    BOOL,
    FP4,
    FP8E4M3FN,
    FP8E5M2,
    FP8E8M0,
    FP16,
    FP32,
    HF4,
    HF8,
    INDEX,
    INT4,
    INT8,
    INT16,
    INT32,
    INT64,
    TASK_ID,
    UINT4,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    Array,
    AtomicType,
    CompactMode,
    DataType,
    DistributedTensor,
    FunctionType,
    InOut,
    Level,
    Mem,
    MemorySpace,
    MemRef,
    MemRefType,
    NotifyOp,
    Out,
    PadValue,
    PipeType,
    Ptr,
    Role,
    Scalar,
    SplitMode,
    Tensor,
    TensorLayout,
    TensorView,
    Tile,
    TileLayout,
    TileView,
    Tuple,
    UnknownType,
    at,
    cond,
    const,
    cross_core_slot,
    dynamic,
    func_attr,
    parallel,
    pipeline,
    split,
    split_aiv,
    spmd,
    static_assert,
    static_print,
    unroll,
    while_,
    yield_,
)
from cubelane.language.vocabulary import range_ as range

if TYPE_CHECKING:
    from cubelane.language.decorators import function, inline, jit, program
    from cubelane.language.errors import (
        InvalidOperationError,
        NeedsArguments,
        ParserError,
        ParserSyntaxError,
        ParserTypeError,
        SSAViolationError,
        UndefinedVariableError,
        UnsupportedFeatureError,
    )
    from cubelane.language.parser import loads, parse
    from cubelane.language.printing.programs import print_function, print_program

__all__ = [
    "BF16",
    "BOOL",
    "FP4",
    "FP8E4M3FN",
    "FP8E5M2",
    "FP8E8M0",
    "FP16",
    "FP32",
    "HF4",
    "HF8",
    "INDEX",
    "INT4",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "TASK_ID",
    "UINT4",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "Array",
    "AtomicType",
    "CompactMode",
    "DataType",
    "DistributedTensor",
    "FunctionType",
    "InOut",
    "InvalidOperationError",
    "Level",
    "Mem",
    "MemRef",
    "MemRefType",
    "MemorySpace",
    "NeedsArguments",
    "NotifyOp",
    "Out",
    "PadValue",
    "ParserError",
    "ParserSyntaxError",
    "ParserTypeError",
    "PipeType",
    "Ptr",
    "Role",
    "SSAViolationError",
    "Scalar",
    "SplitMode",
    "Tensor",
    "TensorLayout",
    "TensorView",
    "Tile",
    "TileLayout",
    "TileView",
    "Tuple",
    "UndefinedVariableError",
    "UnknownType",
    "UnsupportedFeatureError",
    "at",
    "cond",
    "const",
    "cross_core_slot",
    "dynamic",
    "func_attr",
    "function",
    "inline",
    "jit",
    "loads",
    "parallel",
    "parse",
    "pipeline",
    "print_function",
    "print_program",
    "program",
    "range",
    "split",
    "split_aiv",
    "spmd",
    "static_assert",
    "static_print",
    "unroll",
    "while_",
    "yield_",
]

_LAZY: dict[str, str] = {
    **dict.fromkeys(("function", "inline", "jit", "program"), "decorators"),
    **dict.fromkeys(
        (
            "InvalidOperationError",
            "NeedsArguments",
            "ParserError",
            "ParserSyntaxError",
            "ParserTypeError",
            "SSAViolationError",
            "UndefinedVariableError",
            "UnsupportedFeatureError",
        ),
        "errors",
    ),
    **dict.fromkeys(("loads", "parse"), "parser"),
    **dict.fromkeys(("print_function", "print_program"), "printing.programs"),
}
_OLD_NAMES = {"parse_program": "parse", "loads_program": "loads"}


def __getattr__(name: str) -> Any:
    """Loads what is heavy when somebody asks for it; any other name is an operation of the language."""
    name = _OLD_NAMES.get(name, name)
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    return import_module(f"{__name__}.catalogue").lookup(name)


def __dir__() -> list[str]:
    """All names, for completion."""
    return sorted({*globals(), *_LAZY, *_OLD_NAMES, *import_module(f"{__name__}.catalogue").names()})
