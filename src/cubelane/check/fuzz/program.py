"""A random kernel: its text, the numbers of its scalars, inputs that give a misplaced row away, and the kernel file."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from cubelane.check.arrays import array_dtype, parameter_names
from cubelane.check.reference import reference_entry
from cubelane.ir.kernel import Direction, direction_of
from cubelane.ir.types import DYNAMIC, TensorType, TileType

Choose = Callable[[Sequence[Any]], Any]
"""Picks one of the options. A generator asks it for every decision, so `random.choice` and hypothesis both fit."""

MARKER = -77
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Program:
    """The text of a kernel and the values of its scalar parameters and symbolic extents, by name."""

    text: str
    scalars: Mapping[str, int] = field(default_factory=dict[str, int])
    family: str = ""


@dataclass(frozen=True)
class Parameter:
    """A parameter of the entry: what an array for it must be. `shape` is None for a scalar."""

    name: str
    shape: tuple[int, ...] | None
    dtype: np.dtype[Any] | None
    written_only: bool

    @property
    def factors(self) -> tuple[int, int]:
        """How fast its values change along the first and the last axis: other names, other values."""
        code = zlib.crc32(self.name.encode())
        return 1 + code % 5, 1 + code // 5 % 7


def parameters(module: ModuleOp, scalars: Mapping[str, int]) -> list[Parameter]:
    """The parameters of the entry of a program; a symbolic extent that nobody names is 16."""
    entry: FuncOp = reference_entry(module)
    result: list[Parameter] = []
    for position, (name, argument) in enumerate(zip(parameter_names(entry), entry.body.block.args, strict=True)):
        type_ = argument.type
        if not isinstance(type_, TensorType | TileType):
            result.append(Parameter(name, None, None, False))
            continue
        shape = tuple(scalars.get(str(d), 16) if isinstance(d, str) or d == DYNAMIC else d for d in type_.shape)
        only = direction_of(entry, position) is Direction.OUT
        result.append(Parameter(name, shape, array_dtype(type_.dtype), only))
    return result


def coded(shape: tuple[int, ...], a: int, b: int, dtype: Any) -> Any:
    """Small whole numbers that depend on the index: exact in every type, other in every row and column."""
    i = np.indices(shape)
    return ((a * i[0] + b * i[-1] + i[0] * i[-1]) % 11 - 5).astype(np.int8).astype(dtype)


def inputs_of(module: ModuleOp, scalars: Mapping[str, int]) -> dict[str, Any]:
    """Index-coded inputs, marker-filled outputs, the given scalars (1 where none is given)."""
    made: dict[str, Any] = {}
    for parameter in parameters(module, scalars):
        if parameter.shape is None:
            made[parameter.name] = scalars.get(parameter.name, 1)
        elif parameter.written_only:
            made[parameter.name] = np.full(parameter.shape, MARKER, np.int8).astype(parameter.dtype)
        else:
            made[parameter.name] = coded(parameter.shape, *parameter.factors, parameter.dtype)
    return made


def kernel_file(program: Program, module: ModuleOp, about: str) -> str:
    """The program as a kernel file with `inputs()`: what `inputs_of` gives, in the file's own words."""
    lines: list[str] = []
    for parameter in parameters(module, program.scalars):
        if parameter.shape is None:
            value = str(program.scalars.get(parameter.name, 1))
        elif parameter.written_only:
            value = f"np.full({parameter.shape}, {MARKER}, np.int8).astype({_dtype_text(parameter.dtype)})"
        else:
            a, b = parameter.factors
            value = f"coded({parameter.shape}, {a}, {b}, {_dtype_text(parameter.dtype)})"
        lines.append(f'        "{parameter.name}": {value},')
    narrow = "import ml_dtypes\n" if any("ml_dtypes" in line for line in lines) else ""
    body = program.text.split("import pypto.language as pl\n", 1)[-1].strip("\n")
    text = f'"""{about}\n"""\n\n{narrow}import numpy as np\nimport pypto.language as pl\n\nRTOL = ATOL = {TOLERANCE}\n'
    if "coded(" in "".join(lines):
        text += _CODED
    joined = "\n".join(lines)
    return f"{text}\n\n{body}\n\n\ndef inputs():\n    return {{\n{joined}\n    }}\n"


_CODED = """

def coded(shape, a, b, dtype):
    i = np.indices(shape)
    return ((a * i[0] + b * i[-1] + i[0] * i[-1]) % 11 - 5).astype(np.int8).astype(dtype)
"""


def _dtype_text(dtype: np.dtype[Any] | None) -> str:
    assert dtype is not None
    module = "np" if hasattr(np, dtype.name) else "ml_dtypes"
    return f"{module}.{dtype.name}" if dtype.name != "bool" else "np.bool_"
