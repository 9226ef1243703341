"""`pypto.ir.pass_manager`: all passes in order, with a dump of the program after each (spec/front.md 7.1)."""

from enum import Enum
from pathlib import Path
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp

from cubelane import language
from cubelane.dropin.backend import BackendType, stamped
from cubelane.dropin.instruments import PassContext
from cubelane.passes import pipeline


class OptimizationStrategy(Enum):
    """Which passes run; there is one order."""

    Default = "Default"


class PassDumpLevel(Enum):
    """How much of the program is written after each pass."""

    NONE = 0
    CONCISE = 1
    EXPLICIT = 2


class Titled(NamedTuple):
    """A pass of the manager, as instruments see it."""

    title: str

    def get_name(self) -> str:
        """The name of the pass."""
        return self.title


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
        return [stage.title for stage in pipeline.PASSES]

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
        context = PassContext.current()
        instruments = context.instruments if context is not None else ()

        def after(stage: pipeline.Pass, current: ModuleOp) -> None:
            nonlocal count
            count += 1
            if dumps:
                write_dump(folder, count, f"after_{stage.title}", current)
            for instrument in instruments:
                instrument.after(Titled(stage.title), current)

        def before(stage: pipeline.Pass, current: ModuleOp) -> None:
            for instrument in instruments:
                instrument.before(Titled(stage.title), current)

        return pipeline.run(module, after=after, before=before if instruments else None)


def write_dump(folder: Path, number: int, name: str, module: ModuleOp) -> None:
    """`NN_NAME.py`: the program in the language."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{number:02d}_{name}.py").write_text(language.print_program(module), encoding="utf-8")


__all__ = ["OptimizationStrategy", "PassDumpLevel", "PassManager"]
