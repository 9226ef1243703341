"""What a decorated kernel is: its specification, and the architecture a native build takes (spec/pto.md 2.2, 9)."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from cubelane.ptodsl.errors import wrong_value

DEFAULT_KERNEL_KIND = "vector"
KINDS = ("cube", "vector")


class ModuleStyle(Enum):
    """How modules nest; `pto.jit` always makes backend-partitioned ones."""

    FLAT_AICORE = "flat_aicore"
    NESTED = "nested"
    BACKEND_PARTITIONED = "backend_partitioned"


@dataclass(frozen=True)
class KernelModuleSpec:
    """All that the decorator was told.

    `kernel_kind` has two consumers: the native build reads its value, also the default one; serialization reads it
    only together with `kernel_kind_explicit`.
    """

    function_name: str
    target_arch: str
    kernel_kind: Any
    kernel_kind_explicit: bool = False
    backend: str = "vpto"
    entry: bool = True
    mode: str = "auto"
    insert_sync: bool | None = None
    module_style: ModuleStyle = ModuleStyle.BACKEND_PARTITIONED
    source_file: str | None = None
    source_line: int | None = None
    jit_source: Any = None

    @property
    def inserts_sync(self) -> bool:
        """Whether the assembler is asked to insert synchronization."""
        return self.mode == "auto" if self.insert_sync is None else self.insert_sync

    @property
    def child_kind(self) -> str | None:
        """The kind written on the backend child: only what the author said, and that of EmitC helpers."""
        says = self.kernel_kind_explicit if self.backend == "vpto" else not self.entry
        return self.kernel_kind if says and self.kernel_kind in KINDS else None

    @property
    def function_kind(self) -> str | None:
        """The kind written on the function."""
        says = self.kernel_kind_explicit or (self.backend == "emitc" and not self.entry)
        return self.kernel_kind if says and self.kernel_kind in KINDS else None

    def native_arch(self) -> str:
        """The architecture the host part of a native build is compiled for."""
        return aicore_arch_for_kernel_kind(self.kernel_kind, self.target_arch)

    def assembler_options(self) -> list[str]:
        """The options a native build gives to ptoas."""
        options = [f"--pto-arch={self.target_arch}"]
        options += ["--pto-level=level3"] if self.mode == "explicit" else []
        options += ["--enable-insert-sync"] if self.inserts_sync else []
        return [*options, "--enable-tile-op-expand"]


def aicore_arch_for_kernel_kind(kind: str | None, target_arch: str) -> str:
    """The compiler architecture of a kernel kind (spec/pto.md 9)."""
    family = "dav-c220" if target_arch in ("a2", "a3") else "dav-c310"
    suffix = {"vector": "-vec", "cube": "-cube", None: ""}.get(kind)
    if suffix is None:
        raise wrong_value(f"unsupported kernel_kind for native build: {kind!r}")
    return family + suffix
