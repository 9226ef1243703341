"""`@pto.jit`: kernels, their specializations, and the handles a script works with (spec/pto.md 2.1 to 2.4)."""

import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.names import value_name
from cubelane.ir.pto.spaces import Space
from cubelane.ir.pto.text import print_pto, verify_pto
from cubelane.ptodsl.errors import WrongType, WrongValue, wrong_place, wrong_type, wrong_value
from cubelane.ptodsl.module import child_module, container, kernel_function, merge, source_place
from cubelane.ptodsl.rewrite import rewritten
from cubelane.ptodsl.spec import DEFAULT_KERNEL_KIND, KernelModuleSpec
from cubelane.ptodsl.tiles import TensorView, Tile
from cubelane.ptodsl.tracer import Tracer, activated, active
from cubelane.ptodsl.types import PointerType, ScalarType, ValueType
from cubelane.ptodsl.values import Value, as_scalar, wrap

MACHINE = "cubelane.sim.micro.launch:prepare"
"""Who makes a kernel ready to run: `module:function`, resolved when a kernel is first called. This package does not
depend on it."""

BACKENDS, MODES = ("vpto", "emitc"), ("auto", "explicit")


class _Unset:
    """Stands for an argument that was not given."""


_UNSET = _Unset()


class const_expr:
    """The annotation of compile-time arguments; called, it gives its argument back: `if pto.const_expr(FLAG):`."""

    def __new__(cls, value: Any) -> Any:
        return value


class Kernel:
    """A decorated kernel. It is traced once for each set of compile-time arguments."""

    def __init__(self, function: Callable[..., Any], spec: KernelModuleSpec, ast_rewrite: bool):
        self.function, self.spec = function, spec
        self.parameters, self.constexprs = _signature(function, spec)
        self.body = rewritten(function, ast_rewrite)
        self.__name__, self.__doc__ = spec.function_name, function.__doc__
        self._compiled: dict[tuple[tuple[str, Any], ...], CompiledKernel] = {}

    @property
    def _module_spec(self) -> KernelModuleSpec:
        return self.spec

    def compile(self, **constexprs: Any) -> "CompiledKernel":
        """The specialization for these compile-time arguments."""
        if not self.spec.entry:
            raise wrong_place(
                f"{self.spec.function_name} is a kernel module (entry=False); it cannot be compiled or launched alone",
                instead="call it from the body of a @pto.jit entry",
                code="kernel-module",
            )
        unknown = sorted(set(constexprs) - set(self.constexprs))
        if unknown:
            known = ", ".join(self.constexprs) or "none"
            raise wrong_type(
                f"{self.spec.function_name} has no compile-time argument {', '.join(unknown)}; it has {known}"
            )
        values = {**self.constexprs, **constexprs}
        key = tuple(sorted((name, _hashable(value)) for name, value in values.items()))
        if key not in self._compiled:
            self._compiled[key] = CompiledKernel(self, trace_entry(self, values))
        return self._compiled[key]

    def __str__(self) -> str:
        return self.compile().mlir_text()

    def __getitem__(self, launch: Any) -> Callable[..., Any]:
        return lambda *arguments, **constexprs: self.compile(**constexprs)[launch](*arguments)

    def __call__(self, *arguments: Any, **constexprs: Any) -> Any:
        tracer = active()
        if tracer is None:
            return self.compile(**constexprs)(*arguments)
        if self.spec.entry:
            raise wrong_place(
                f"{self.spec.function_name} is an entry; only kernel modules can be called from a kernel",
                instead=f"decorate {self.spec.function_name} with @pto.jit(entry=False)",
            )
        return _call_module(tracer, self, arguments, constexprs)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


class CompiledKernel:
    """One specialization: its module, and ways to look at it and to run it."""

    def __init__(self, kernel: Kernel, module: ModuleOp):
        self.kernel, self._module = kernel, module
        self._machine: Any = None

    @property
    def spec(self) -> KernelModuleSpec:
        """What the decorator was told."""
        return self.kernel.spec

    @property
    def _module_spec(self) -> KernelModuleSpec:
        return self.kernel.spec

    def mlir_module(self) -> ModuleOp:
        """A copy of the traced module, which keeps the places of its ops."""
        return clone_module(self._module)

    def mlir_text(self) -> str:
        """The traced module as PTO text."""
        return print_pto(self._module)

    __str__ = mlir_text

    def verify(self) -> bool:
        """Verifies the traced module; a broken rule is a located Diagnostic."""
        verify_pto(self._module)
        return True

    def emit(self, path: str | Path) -> Path:
        """Writes the PTO text to a file."""
        target = Path(path)
        temporary = target.with_name(f".{target.name}.part")
        temporary.write_text(self.mlir_text(), encoding="utf-8")
        temporary.replace(target)
        return target

    def run(self, *arguments: Any, grid: int = 1, **options: Any) -> Any:
        """Runs the kernel on the micro-op machine and gives the result with all findings; arrays change in place."""
        if self.spec.insert_sync:
            raise Diagnostic(
                f"{self.spec.function_name} asks for automatic synchronization, which is not built",
                source_place(self.spec),
                instead="write the flags by hand, without insert_sync=True",
                code="not-built",
            )
        if self._machine is None:
            self._machine = pkgutil.resolve_name(MACHINE)(self.mlir_module(), self.spec.function_name)
        return self._machine.launch(arguments, grid=grid, **options)

    def __call__(self, *arguments: Any, grid: int = 1) -> Any:
        """Runs the kernel; the first finding is raised."""
        result = self.run(*arguments, grid=grid)
        if result.findings:
            raise result.findings[0]
        return result

    def __getitem__(self, launch: Any) -> Callable[..., Any]:
        grid = launch[0] if isinstance(launch, tuple) else launch  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(grid, int) or grid < 1:
            raise wrong_value(f"the grid must be a positive number of core groups, got {grid!r}")
        return lambda *arguments: self(*arguments, grid=grid)


def clone_module(module: ModuleOp) -> ModuleOp:
    """A copy that keeps the place of every op."""
    copy = module.clone()
    for old, new in zip(module.walk(), copy.walk(), strict=True):
        new.location = old.location
    return copy


def jit(
    name: str | Callable[..., Any] | None = None,
    *,
    target: str = "a5",
    kernel_kind: Any = _UNSET,
    backend: str = "vpto",
    entry: bool = True,
    mode: str = "auto",
    insert_sync: bool | None = None,
    ast_rewrite: bool | None = None,
    frontend_options: Any = None,
    source: Any = None,
) -> Any:
    """`@pto.jit(...)` (spec/pto.md 2.1). `kernel_kind` counts as explicit when it is given, whatever its value."""
    if callable(name):
        return jit()(name)

    def decorate(function: Callable[..., Any]) -> Kernel:
        explicit = not isinstance(kernel_kind, _Unset)
        code = getattr(inspect.unwrap(function), "__code__", None)
        spec = KernelModuleSpec(
            function_name=name or function.__name__,
            target_arch=target,
            kernel_kind=kernel_kind if explicit else DEFAULT_KERNEL_KIND,
            kernel_kind_explicit=explicit,
            backend=backend,
            entry=entry,
            mode=mode,
            insert_sync=insert_sync,
            source_file=getattr(code, "co_filename", None),
            source_line=getattr(code, "co_firstlineno", None),
            jit_source=source,
        )
        for what, value, legal in (("jit mode", mode, MODES), ("backend", backend, BACKENDS)):
            if value not in legal:
                raise WrongValue(
                    f"unsupported PTODSL {what} {value!r}; expected {' or '.join(map(repr, legal))} "
                    f"(kernel {spec.function_name}, {spec.source_file}:{spec.source_line})",
                    source_place(spec),
                    code="decorator",
                )
        return Kernel(function, spec, ast_rewrite is not False)

    return decorate


Parameter = ValueType | type[Tile] | type[TensorView]
"""A type, or the kind of value whose type the caller decides (kernel modules only)."""


def _signature(function: Callable[..., Any], spec: KernelModuleSpec) -> tuple[dict[str, Parameter], dict[str, Any]]:
    """Run-time parameters with their types, and compile-time parameters with their default values."""
    hints = inspect.get_annotations(function, eval_str=True)
    parameters: dict[str, Parameter] = {}
    constexprs: dict[str, Any] = {}
    where = source_place(spec)
    for parameter in inspect.signature(function).parameters.values():
        name, hint = parameter.name, hints.get(parameter.name)
        if parameter.kind is parameter.KEYWORD_ONLY:
            if parameter.default is parameter.empty:
                raise WrongType(f"compile-time argument '{name}' of {spec.function_name} needs a default value", where)
            constexprs[name] = parameter.default
            continue
        if hint is None:
            raise WrongType(
                f"parameter '{name}' of {spec.function_name} needs a type annotation",
                where,
                instead=f'{name}: pto.ptr(pto.f32, "gm")',
                code="annotation",
            )
        if hint in (Tile, TensorView):
            if spec.entry:
                raise WrongType(
                    f"parameter '{name}' of entry {spec.function_name} is a {hint.__name__}; a launch passes pointers "
                    "into gm and scalars only",
                    where,
                    instead="pass a pointer, and make the tile or view in the kernel",
                    code="tile-argument",
                )
            parameters[name] = hint
            continue
        if not isinstance(hint, PointerType | ScalarType):
            raise WrongType(f"parameter '{name}' of {spec.function_name}: {hint!r} is no PTO type", where)
        if spec.entry and isinstance(hint, PointerType) and hint.space is not Space.GM:
            raise WrongType(
                f"parameter '{name}' of entry {spec.function_name} points into {hint.space.value}; "
                "a launch can pass pointers into gm only",
                where,
                instead=f'{name}: pto.ptr(pto.{hint.element}, "gm")',
                code="pointer-argument",
            )
        parameters[name] = hint
    return parameters, constexprs


def trace_entry(kernel: Kernel, constexprs: Mapping[str, Any]) -> ModuleOp:
    """The module of one specialization."""
    tracer = Tracer(kernel.spec)
    types = [kind.attribute for kind in kernel.parameters.values() if not isinstance(kind, type)]
    children = _trace_child(tracer, kernel, types, constexprs, None)
    module = container(kernel.spec, children)
    return module


def _trace_child(
    tracer: Tracer, kernel: Kernel, types: Sequence[Attribute], constexprs: Mapping[str, Any], symbol: str | None
) -> list[ModuleOp]:
    """The child of a kernel, followed by the children of the kernel modules it calls."""
    child = child_module(kernel.spec)
    body = Block(arg_types=types)
    for argument, name in zip(body.args, kernel.parameters, strict=True):
        argument.name_hint = value_name(name)
    with activated(tracer), tracer.scope(body, "function"):
        result = _run_body(kernel, [wrap(argument) for argument in body.args], constexprs)
        if result is not None:
            raise WrongType(
                f"kernel {kernel.spec.function_name} must return nothing, it returned {result!r}",
                source_place(kernel.spec),
                instead="write results through pointer arguments",
                code="returns-value",
            )
        body.add_op(ReturnOp())
    function = kernel_function(kernel.spec, types, Region(body), symbol)
    child.body.block.add_op(function)
    declarations = [declaration for _, declaration, _ in tracer.callees.values()]
    for op in (*declarations, *tracer.helpers):
        child.body.block.add_op(op)
    return [child, *(module for modules, _, _ in tracer.callees.values() for module in modules)]


def _run_body(kernel: Kernel, arguments: list[Any], constexprs: Mapping[str, Any]) -> Any:
    """Runs the user's Python; its own errors become diagnostics at its line."""
    try:
        return kernel.body(*arguments, **constexprs)
    except Diagnostic as problem:
        _add_kernel(problem, kernel)
        raise


def _add_kernel(problem: Diagnostic, kernel: Kernel) -> None:
    where = source_place(kernel.spec)
    note = f"in kernel {kernel.spec.function_name} ({where.file}:{where.line})"
    if note not in problem.notes:
        problem.notes = (*problem.notes, note)


def _call_module(tracer: Tracer, kernel: Kernel, arguments: Sequence[Any], constexprs: Mapping[str, Any]) -> None:
    """A call of a kernel module: its public definition in its own child, a declaration and a call here."""
    if tracer.inside("tileop"):
        raise wrong_place("a kernel module cannot be called inside a tileop", instead="call it after the scope")
    if len(arguments) != len(kernel.parameters):
        raise wrong_type(f"{kernel.spec.function_name} takes {len(kernel.parameters)} arguments, got {len(arguments)}")
    values = [
        _argument(v, kind, name, kernel) for v, (name, kind) in zip(arguments, kernel.parameters.items(), strict=True)
    ]
    chosen = {**kernel.constexprs, **constexprs}
    inputs = [value.type for value in values]
    key = (id(kernel), tuple(sorted((n, _hashable(v)) for n, v in chosen.items())), tuple(inputs))
    if key not in tracer.callees:
        number = sum(k[0] == id(kernel) for k in tracer.callees)
        symbol = kernel.spec.function_name + (f"_{number}" if number else "")
        modules = _trace_child(Tracer(kernel.spec), kernel, inputs, chosen, symbol)
        declaration = FuncOp(symbol, FunctionType.from_lists(inputs, []), Region(), "private")
        declaration.location = source_place(kernel.spec).as_attribute()
        tracer.callees[key] = (modules, declaration, symbol)
    tracer.insert(CallOp(tracer.callees[key][2], values, []))


def _argument(value: Any, kind: Parameter, name: str, kernel: Kernel) -> SSAValue:
    what = f"argument '{name}' of {kernel.spec.function_name}"
    if isinstance(kind, type):
        if not isinstance(value, kind):
            raise wrong_type(f"{what} must be a {kind.__name__}, got {value!r}")
        return value.ssa
    if isinstance(kind, ScalarType):
        return as_scalar(value, kind, what)
    if not isinstance(value, Value) or value.type != kind:
        raise wrong_type(f"{what} must be of type {kind}, got {value!r}")
    return value.ssa


def merge_jit_modules(*handles: CompiledKernel) -> ModuleOp:
    """`pto.merge_jit_modules(*handles)`: one module with all kernels."""
    return merge([(handle.spec, handle.mlir_module()) for handle in handles])
