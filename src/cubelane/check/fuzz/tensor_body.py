"""The text of a kernel of tensors under construction: statements, parameters, and the variables in scope."""

from dataclasses import dataclass, field

from cubelane.check.fuzz.program import Choose

INPUT, OUTPUT, BOTH = "{}", "pl.Out[{}]", "pl.InOut[{}]"


@dataclass(frozen=True)
class Value:
    """A variable in scope: its shape, element type, and whether all its cells are valid."""

    name: str
    rows: int
    columns: int
    dtype: str = "FP32"
    whole: bool = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.columns


@dataclass
class Parameter:
    """A tensor parameter of the kernel."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    direction: str = INPUT

    @property
    def annotation(self) -> str:
        return self.direction.format(self.type)

    @property
    def type(self) -> str:
        return f"pl.Tensor[{list(self.shape)}, pl.{self.dtype}]"


@dataclass
class Body:
    """Statements of one kernel under construction, and the names that are in scope."""

    choose: Choose
    lines: list[str] = field(default_factory=list[str])
    indent: int = 2
    count: int = 0
    parameters: list[Parameter] = field(default_factory=list[Parameter])
    values: list[Value] = field(default_factory=list[Value])
    indices: list[str] = field(default_factory=list[str])

    def put(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def fresh(self, stem: str = "v") -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def tensor(self, shape: tuple[int, ...], dtype: str = "FP32", direction: str = INPUT) -> Parameter:
        """A new parameter, or one that fits."""
        if direction == INPUT:
            fits = [p for p in self.parameters if (p.shape, p.dtype, p.direction) == (shape, dtype, INPUT)]
            if fits and self.choose((True, False)):
                return self.choose(fits)
        stem = {INPUT: "p", OUTPUT: "y", BOTH: "s"}[direction]
        parameter = Parameter(self.fresh(stem), shape, dtype, direction)
        self.parameters.append(parameter)
        return parameter

    def let(self, rows: int, columns: int, text: str, dtype: str = "FP32", whole: bool = True) -> Value:
        """A new variable in scope."""
        value = Value(self.fresh(), rows, columns, dtype, whole)
        self.put(f"{value.name} = {text}")
        self.values.append(value)
        return value

    def like(self, value: Value) -> list[Value]:
        """All variables of the type of one."""
        return [v for v in self.values if (*v.shape, v.dtype, v.whole) == (*value.shape, value.dtype, value.whole)]

    def floats(self) -> list[Value]:
        """The FP32 variables."""
        return [v for v in self.values if v.dtype == "FP32"]
