"""`@pl.jit` as a Python object: a kernel whose types come from the arguments it is called with (spec/front.md 1.1)."""

import ast
from collections.abc import Callable, Hashable
from typing import Any

from cubelane.ir.diagnostic import Location
from cubelane.language.errors import UnsupportedFeatureError
from cubelane.language.kernel_module import Program, Shown
from cubelane.language.parser import Written, build
from cubelane.language.runner import runner
from cubelane.language.templates import Specialized, Specializer, Template


class JitFunction(Shown):
    """A kernel without types; calling it compiles it for the types of the arguments and runs it on the simulator.

    Arrays are those of NumPy, of torch, or whatever offers `__array__` or DLPack. Arguments of `pl.Out` and `pl.InOut`
    parameters are written in place.
    """

    def __init__(self, template: Template):
        self.template = template
        self.specializer = Specializer(template)
        self.__name__ = template.name
        self.__doc__ = ast.get_docstring(template.node)
        self._made: dict[tuple[Hashable, ...], Any] = {}

    @property
    def location(self) -> Location:
        """Where the kernel is defined."""
        return self.specializer.place()

    def as_python(self, prefix: str = "pl", concise: bool = False) -> str:
        """The kernel as written: without arguments it has no types."""
        return ast.unparse(self.template.node) + "\n"

    def options(self) -> dict[str, Any]:
        """`target=` and `mode=` of the decorator."""
        return self.specializer.options()

    def specialized(self, *arguments: Any, **keywords: Any) -> Specialized:
        """The typed function for these arguments, not read yet."""
        return self.specializer.specialized(arguments, keywords)

    def specialize(self, *arguments: Any, **keywords: Any) -> Program:
        """The program for arguments of these types; it is not lowered."""
        return program_of(self.specialized(*arguments, **keywords))

    def once(self, key: tuple[Hashable, ...], make: Callable[[], Any]) -> Any:
        """What was made for a key before, or is made now."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def _run(self, action: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        run = runner()
        if run is None:
            raise UnsupportedFeatureError(
                f"`{self.__name__}` cannot be run: the compiler is not loaded", self.location, instead="import cubelane"
            )
        return run(self, action, arguments, keywords)

    def lower(self, *arguments: Any, **keywords: Any) -> Program:
        """The program after all passes, for arguments of these types."""
        return self._run("lower", arguments, keywords)

    def compile(self, *arguments: Any, **keywords: Any) -> Any:
        """The compiled kernel (`cubelane.CompiledKernel`), for arguments of these types."""
        return self._run("compile", arguments, keywords)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Runs the kernel; gives what it returns: the caller's own arrays, or new ones."""
        return self._run("call", arguments, keywords)


def program_of(specialized: Specialized) -> Program:
    """The program that consists of a typed function and of what it calls."""
    definition = specialized.definition
    written = Written(definition.name, definition.node, {definition.name: definition})
    return build(written, definition.source.filename)


__all__ = ["JitFunction", "Specialized", "program_of"]
