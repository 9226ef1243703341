"""Kernels and scripts as their authors wrote them: `pypto` and `ptodsl` resolve to cubelane.

`install()` adds a finder behind all others, so an installed real package is never shadowed unless asked for.
"""

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

ALIASES = {
    "pypto.language": "cubelane.language",
    "pypto.language.distributed": "cubelane.language",
    "pypto.passes": "cubelane.dropin.passes",
    "pypto.ir": "cubelane.dropin.ir",
    "pypto.ir.pass_manager": "cubelane.dropin.pass_manager",
    "pypto.backend": "cubelane.dropin.backend",
    "ptodsl": "cubelane.ptodsl",
}
"""Module of the other package to the module of ours that stands for it."""

MEMBERS = {
    "pypto.DataType": ("cubelane.language", "DataType"),
    "pypto.Error": ("cubelane.ir.diagnostic", "Diagnostic"),
}
"""Names in the other package that are no modules."""

PACKAGES = ("pypto",)
"""Packages that hold nothing but aliases."""


class _Alias(Loader):
    """Loads a module of ours under another name."""

    def __init__(self, target: str | None):
        self.target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return importlib.import_module(self.target) if self.target else None

    def exec_module(self, module: ModuleType) -> None:
        """An alias runs nothing; a package of aliases looks its members up."""
        if self.target is None:
            module.__path__ = []
            setattr(module, "__getattr__", _member_of(module.__name__))  # noqa: B010


def _member_of(package: str) -> Callable[[str], object]:
    def lookup(name: str) -> object:
        if f"{package}.{name}" in ALIASES:
            return importlib.import_module(ALIASES[f"{package}.{name}"])
        if f"{package}.{name}" in MEMBERS:
            module, member = MEMBERS[f"{package}.{name}"]
            return getattr(importlib.import_module(module), member)
        raise AttributeError(f"cubelane does not provide {package}.{name}")

    return lookup


class AliasFinder(MetaPathFinder):
    """Finds the aliased names; any other name of an aliased package is missing by its name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in ALIASES:
            return ModuleSpec(fullname, _Alias(ALIASES[fullname]))
        if fullname in PACKAGES:
            return ModuleSpec(fullname, _Alias(None), is_package=True)
        if _is_ours(fullname):
            raise ModuleNotFoundError(f"cubelane does not provide {fullname}", name=fullname)
        return None


_FINDER = AliasFinder()


def _is_ours(fullname: str) -> bool:
    """Whether a module belongs to a package that this process takes from here."""
    package = sys.modules.get(fullname.partition(".")[0])
    loader = getattr(getattr(package, "__spec__", None), "loader", None)
    return "." in fullname and isinstance(loader, _Alias)


def install(*, shadow: bool = False) -> None:
    """Makes the aliases importable in this process.

    A real package that is installed comes first; `shadow` puts the aliases before it, also where it is loaded already.
    """
    uninstall()
    if not shadow:
        sys.meta_path.append(_FINDER)
        return
    sys.meta_path.insert(0, _FINDER)
    for name in list(sys.modules):
        if name in ALIASES or name.partition(".")[0] in PACKAGES:
            del sys.modules[name]


def uninstall() -> None:
    """Takes the aliases out again; modules that were imported stay."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
