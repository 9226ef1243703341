"""`pypto.ir.pass_manager`: all passes in order, with a dump of the program after each (spec/front.md 7.1)."""

from enum import Enum
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from cubelane import language
from cubelane.dropin.backend import BackendType, stamped
from cubelane.passes import pipeline


class OptimizationStrategy(Enum):
    """Which passes run; there is one order."""

    Default = "Default"


class PassDumpLevel(Enum):
    """How much of the program is written after each pass."""

    NONE = 0
    CONCISE = 1
    EXPLICIT = 2


def pascal(name: str) -> str:
    """`outline-incore-scopes` as `OutlineIncoreScopes`."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("-"))


class PassManager:
    """All passes."""

    def __init__(self, strategy: OptimizationStrategy = OptimizationStrategy.Default):
        self.strategy = strategy

    @classmethod
    def get_strategy(cls, strategy: OptimizationStrategy = OptimizationStrategy.Default) -> "PassManager":
        """The passes of a strategy."""
        return cls(strategy)

    @property
    def pass_names(self) -> list[str]:
        """The names of the passes, in order."""
        return [pascal(stage.name) for stage in pipeline.PASSES]

    def get_pass_names(self) -> list[str]:
        """The names of the passes, in order."""
        return self.pass_names

    def run_passes(
        self, program: ModuleOp, dump_ir: bool | PassDumpLevel = False, output_dir: str | Path | None = None
    ) -> ModuleOp:
        """The program after all passes; the one given stays. With `dump_ir` every stage is written to `output_dir`."""
        module = stamped(program.clone(), BackendType.Ascend910B)
        dumps = dump_ir not in (False, PassDumpLevel.NONE)
        if dumps and output_dir is None:
            raise ValueError("dump_ir needs output_dir")
        folder = Path(output_dir or ".")
        if dumps:
            write_dump(folder, 0, "frontend", module)
        count = 0

        def after(stage: pipeline.Pass, current: ModuleOp) -> None:
            nonlocal count
            count += 1
            if dumps:
                write_dump(folder, count, f"after_{pascal(stage.name)}", current)

        return pipeline.run(module, after=after)


def write_dump(folder: Path, number: int, name: str, module: ModuleOp) -> None:
    """`NN_NAME.py`: the program in the language."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{number:02d}_{name}.py").write_text(language.print_program(module), encoding="utf-8")


__all__ = ["OptimizationStrategy", "PassDumpLevel", "PassManager"]
