"""The modules a trace becomes: a container, backend children, attributes (spec/pto.md 3)."""

from collections.abc import Sequence

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Region

from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Location
from cubelane.ir.pto.attrs import BACKEND, KERNEL_KIND, TARGET_ARCH, KernelKindAttr
from cubelane.ptodsl.errors import wrong_value
from cubelane.ptodsl.scopes import LOGICAL_NAME
from cubelane.ptodsl.spec import KernelModuleSpec, ModuleStyle

ENTRY = "pto.entry"
VISIBILITY = "pto.visibility"


def _kind(kind: str) -> KernelKindAttr:
    return KernelKindAttr.of(Affinity(kind))


def source_place(spec: KernelModuleSpec) -> Location:
    """Where the kernel is written."""
    return Location(spec.source_file or "<kernel>", spec.source_line or 0, 1)


def child_module(spec: KernelModuleSpec) -> ModuleOp:
    """An empty backend child; it names a kind only when the author did (spec/pto.md 3.1)."""
    attributes: dict[str, Attribute] = {
        BACKEND: StringAttr(spec.backend),
        TARGET_ARCH: StringAttr(spec.target_arch),
    }
    if spec.child_kind is not None:
        attributes[KERNEL_KIND] = _kind(spec.child_kind)
    module = ModuleOp([], attributes=attributes)
    module.location = source_place(spec).as_attribute()
    return module


def container(spec: KernelModuleSpec, children: Sequence[ModuleOp]) -> ModuleOp:
    """The outer module: it knows the architecture only."""
    module = ModuleOp(list(children), attributes={TARGET_ARCH: StringAttr(spec.target_arch)})
    module.location = source_place(spec).as_attribute()
    return module


def kernel_function(
    spec: KernelModuleSpec, inputs: Sequence[Attribute], body: Region, symbol: str | None = None
) -> FuncOp:
    """The function of a kernel: an entry, or the public definition of a kernel module."""
    name = symbol or spec.function_name
    visibility = None if spec.entry else "public"
    function = FuncOp(name, FunctionType.from_lists(list(inputs), []), body, visibility)
    if spec.entry:
        function.attributes[ENTRY] = UnitAttr()
    else:
        function.attributes[VISIBILITY] = StringAttr("external")
        function.attributes[LOGICAL_NAME] = StringAttr(spec.function_name)
    if spec.function_kind is not None:
        function.attributes[KERNEL_KIND] = _kind(spec.function_kind)
    function.location = source_place(spec).as_attribute()
    return function


def to_flat(module: ModuleOp, spec: KernelModuleSpec) -> ModuleOp:
    """The flat style of an entry without a stated kind: one module, no child level (spec/pto.md 3.2)."""
    if not spec.entry or spec.backend != "vpto" or spec.kernel_kind_explicit:
        raise wrong_value("only a vpto entry without explicit kernel_kind has a flat module")
    children = [op for op in module.body.block.ops if isinstance(op, ModuleOp)]
    if len(children) != 1:
        raise wrong_value("a kernel that calls kernel modules has no flat module")
    flat = children[0].clone()
    del flat.attributes[BACKEND]
    flat.attributes["pto.mode"] = StringAttr(spec.mode)
    return flat


def merge(parts: Sequence[tuple[KernelModuleSpec, ModuleOp]]) -> ModuleOp:
    """`pto.merge_jit_modules`: one module; architecture and backend agree, styles do not mix, flat symbols differ."""
    if not parts:
        raise wrong_value("pto.merge_jit_modules needs at least one kernel")
    first, module = parts[0]
    for spec, _ in parts[1:]:
        for what, a, b in (
            ("target_arch", first.target_arch, spec.target_arch),
            ("backend", first.backend, spec.backend),
        ):
            if a != b:
                raise wrong_value(
                    f"merged kernels must agree on pto.{what}: {first.function_name} has {a!r}, "
                    f"{spec.function_name} has {b!r}"
                )
        if spec.module_style is not first.module_style:
            raise wrong_value("flat and partitioned modules cannot be merged")
    if first.module_style is ModuleStyle.FLAT_AICORE:
        return _merge_flat(parts)
    merged = module.clone()
    for _, other in parts[1:]:
        for op in list(other.clone().body.block.ops):
            op.detach()
            merged.body.block.add_op(op)
    return merged


def _merge_flat(parts: Sequence[tuple[KernelModuleSpec, ModuleOp]]) -> ModuleOp:
    merged = parts[0][1].clone()
    names = {op.sym_name.data for op in merged.body.block.ops if isinstance(op, FuncOp)}
    for spec, other in parts[1:]:
        for op in list(other.clone().body.block.ops):
            if isinstance(op, FuncOp) and op.sym_name.data in names:
                raise wrong_value(
                    f"merged flat modules define the symbol '{op.sym_name.data}' twice ({spec.function_name})"
                )
            op.detach()
            merged.body.block.add_op(op)
    return merged
