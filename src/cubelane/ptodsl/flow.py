"""Run-time control flow: `pto.for_`, `pto.if_`, and what rewritten `if`, `for` and `while` call (spec/pto.md 2.6.4).

Rewritten statements hand over closures: `body` runs the statements, `get` and `put` read and bind the variables they
assign. Python decides when it can; otherwise the statements become scf ops and the variables their carried values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from cubelane.ir.names import value_name
from cubelane.ptodsl.errors import wrong_type
from cubelane.ptodsl.tracer import Tracer, tracing
from cubelane.ptodsl.types import F32, I1, INDEX, ScalarType
from cubelane.ptodsl.values import Scalar, Unassigned, Value, as_scalar, cast, is_alive, select, wrap

Values = tuple[Any, ...]


class _Unbound:
    """Stands for a variable without a value."""


UNBOUND = _Unbound()


def read(lookup: Callable[[], Any]) -> Any:
    """The value of a variable, UNBOUND if it has none or one that can no longer be used."""
    try:
        value = lookup()
    except NameError:
        return UNBOUND
    return value if is_alive(value) else UNBOUND


@dataclass(frozen=True)
class Variables:
    """The variables that a statement assigns; `live` are those whose value is asked for afterwards or next time."""

    names: tuple[str, ...]
    live: tuple[str, ...]
    get: Callable[[], Values]
    put: Callable[[Values], None]


def run_if(condition: Any, then: Callable[[], None], other: Callable[[], None], names: Sequence[str],
           live: Sequence[str], get: Callable[[], Values], put: Callable[[Values], None]) -> None:  # fmt: skip
    """A rewritten `if`."""
    if not isinstance(condition, Value):
        (then if condition else other)()
        return
    tracer = tracing("if")
    test = as_scalar(_truth(condition), I1, "the condition")
    before = get()
    ends: list[Values] = []
    blocks = [Block(), Block()]
    for block, branch in zip(blocks, (then, other), strict=True):
        put(_restored(before, names))
        with tracer.scope(block, "if"):
            branch()
            ends.append(get())
    merged = _Merge(tracer, blocks, ends, before, names, live)
    op = scf.IfOp(test, [kind.attribute for kind in merged.kinds], Region(blocks[0]), Region(blocks[1]))
    tracer.insert(op)
    put(merged.results(list(op.results)))


def kept(names: Sequence[str], values: Values) -> Values:
    """The variables before a section, to be bound again after it."""
    return tuple(
        Unassigned(name, "was assigned inside a pto.section and does not exist outside of it") if v is UNBOUND else v
        for name, v in zip(names, values, strict=True)
    )


def _truth(condition: Value) -> Scalar:
    if not isinstance(condition, Scalar):
        raise wrong_type(f"a condition must be a scalar, got {condition!r}")
    if condition.type == I1:
        return condition
    return condition != 0


def _restored(values: Values, names: Sequence[str]) -> Values:
    return tuple(
        Unassigned(name, "has no value here") if value is UNBOUND else value
        for name, value in zip(names, values, strict=True)
    )


class _Merge:
    """Joins the variables of two branches: unchanged ones stay, the others become results."""

    def __init__(self, tracer: Tracer, blocks: list[Block], ends: list[Values], before: Values,
                 names: Sequence[str], live: Sequence[str]):  # fmt: skip
        self.names, self.kinds = names, list[Any]()
        self.after: list[Any] = []
        yields: list[list[SSAValue]] = [[], []]
        for i, name in enumerate(names):
            pair = [end[i] for end in ends]
            self.after.append(self._join(tracer, blocks, pair, before[i], name, name in live, yields))
        for block, values in zip(blocks, yields, strict=True):
            block.add_op(scf.YieldOp(*values))

    def _join(self, tracer: Tracer, blocks: list[Block], pair: list[Any], before: Any, name: str, live: bool,
              yields: list[list[SSAValue]]) -> Any:  # fmt: skip
        if pair[0] is pair[1]:
            return pair[0] if pair[0] is not UNBOUND else Unassigned(name, "has no value after this `if`")
        if not live:
            return Unassigned(name, "is assigned in a branch of a run-time `if` and not known after it")
        if any(value is UNBOUND or isinstance(value, Unassigned) for value in pair):
            return Unassigned(name, "is assigned in only one branch of a run-time `if`")
        if not any(isinstance(value, Value) for value in pair) and _same(pair[0], pair[1]):
            return pair[0]
        kind = _common_kind(pair)
        if kind is None:
            return Unassigned(name, f"has different types in the two branches: {pair[0]!r} and {pair[1]!r}")
        for block, value, target in zip(blocks, pair, yields, strict=True):
            target.append(_materialized(tracer, block, value, kind))
        self.kinds.append(kind)
        return _Result(len(self.kinds) - 1)

    def results(self, results: list[SSAValue]) -> Values:
        """The variables after the statement."""
        return tuple(wrap(results[v.number]) if isinstance(v, _Result) else v for v in self.after)


@dataclass(frozen=True)
class _Result:
    """Stands for a result of an op that is not made yet."""

    number: int


def _same(a: Any, b: Any) -> bool:
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:
        return False


def _kind(value: Any) -> Any:
    if isinstance(value, Value):
        return value.type
    if isinstance(value, bool):
        return I1
    return INDEX if isinstance(value, int) else F32 if isinstance(value, float) else None


def _common_kind(pair: Sequence[Any]) -> Any:
    traced = [value.type for value in pair if isinstance(value, Value)]
    kinds: list[Any] = list(traced) or [_kind(value) for value in pair]
    if len(set(kinds)) != 1 or kinds[0] is None:
        return None
    numbers = [value for value in pair if not isinstance(value, Value)]
    fits = isinstance(kinds[0], ScalarType) and all(isinstance(n, bool | int | float) for n in numbers)
    return kinds[0] if fits or not numbers else None


def _materialized(tracer: Tracer, block: Block, value: Any, kind: Any) -> SSAValue:
    if isinstance(value, Value):
        return value.ssa
    with tracer.scope(block, "if"):
        return tracer.constant(value, kind)


# --- loops ----------------------------------------------------------------------------------------------------


def run_for(bounds: Values, body: Callable[[Any], None], names: Sequence[str], live: Sequence[str],
            get: Callable[[], Values], put: Callable[[Values], None]) -> None:  # fmt: skip
    """A rewritten `for ... in range(...)`: Python's loop unless a bound is a traced value."""
    if not any(isinstance(bound, Value) for bound in bounds):
        for number in range(*bounds):
            body(number)
        return
    low, high, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    tracer = tracing("for")
    first, last, by = (as_scalar(b, INDEX, "a bound of range") for b in (low, high, step))
    before = get()
    carried = _Carried(tracer, names, live, before, put, get, lambda lead: body(lead[0]), [IndexType()])
    block = Block(arg_types=[IndexType(), *carried.attributes])
    carried.bind(block.args[1:])
    with tracer.scope(block, "a loop"):
        body(wrap(block.args[0]))
        block.add_op(scf.YieldOp(*carried.ends()))
    op = scf.ForOp(first, last, by, carried.initial(), Region(block))
    tracer.insert(op)
    carried.finish(list(op.results), "a run-time `for`")


class _Carried:
    """The variables a loop carries. Numbers whose value changes in the loop become traced values; a trial run tells."""

    def __init__(self, tracer: Tracer, names: Sequence[str], live: Sequence[str], before: Values,
                 put: Callable[[Values], None], get: Callable[[], Values], trial: Callable[[list[Any]], None],
                 lead: Sequence[Attribute] = ()):  # fmt: skip
        self.lead = lead
        self.tracer, self.names, self.live = tracer, names, live
        self.before, self.put, self.get = before, put, get
        self.kinds: dict[int, Any] = {}
        numbers: list[int] = []
        for i, name in enumerate(names):
            if before[i] is UNBOUND or name not in live:
                continue
            if isinstance(before[i], Value):
                self.kinds[i] = before[i].type
            elif isinstance(before[i], bool | int | float):
                numbers.append(i)
        if numbers:
            self._try(numbers, trial)

    def _try(self, numbers: list[int], trial: Callable[[list[Any]], None]) -> None:
        tracer, made, count = self.tracer, len(self.tracer.helpers), self.tracer.tileops
        scopes, sections = list(tracer.scopes), set(tracer.sections)
        found: dict[int, Any] = dict.fromkeys(numbers)
        pending = True
        while pending:
            pending = False
            kinds = {i: kind for i, kind in {**self.kinds, **found}.items() if kind is not None}
            block = Block(arg_types=[*self.lead, *(kind.attribute for kind in kinds.values())])
            self._bind(kinds, block.args[len(self.lead) :])
            with tracer.scope(block, "a loop"):
                trial(list(map(wrap, block.args[: len(self.lead)])))
                after = self.get()
            tracer.scopes = list(scopes)
            for i in numbers:
                new = None if _same(after[i], self.before[i]) else _kind(after[i])
                if found[i] is None and new is not None:
                    found[i], pending = new, True
            del tracer.helpers[made:]
            tracer.tileops, tracer.sections = count, set(sections)
            for op in list(block.ops):
                op.detach()
                op.erase(safe_erase=False)
        self.kinds |= {i: kind for i, kind in found.items() if kind is not None}
        self.kinds = dict(sorted(self.kinds.items()))

    @property
    def attributes(self) -> list[Attribute]:
        """The types of the carried values."""
        return [kind.attribute for kind in self.kinds.values()]

    def initial(self) -> list[SSAValue]:
        """The values before the loop."""
        return [
            self.before[i].ssa if isinstance(self.before[i], Value) else self.tracer.constant(self.before[i], kind)
            for i, kind in self.kinds.items()
        ]

    def bind(self, arguments: Sequence[SSAValue]) -> None:
        """Binds the variables at the head of the loop."""
        self._bind(self.kinds, arguments)

    def _bind(self, kinds: dict[int, Any], arguments: Sequence[SSAValue]) -> None:
        values = list(self.before)
        for i, argument in zip(kinds, arguments, strict=True):
            argument.name_hint = value_name(self.names[i])
            values[i] = wrap(argument)
        for i, name in enumerate(self.names):
            if values[i] is UNBOUND:
                values[i] = Unassigned(name, "is read in a loop before it has a value")
        self.put(tuple(values))

    def ends(self) -> list[SSAValue]:
        """The values at the end of the body."""
        after = self.get()
        ends: list[SSAValue] = []
        for i, kind in self.kinds.items():
            value = after[i]
            if isinstance(value, bool | int | float) and isinstance(kind, ScalarType):
                value = Scalar(self.tracer.constant(value, kind), kind)
            if isinstance(value, Scalar) and value.type != kind and isinstance(kind, ScalarType) and not kind.is_float:
                value = cast(value, kind)
            if not isinstance(value, Value) or value.type != kind:
                got = value.type if isinstance(value, Value) else repr(value)
                raise wrong_type(
                    f"variable '{self.names[i]}' changes its type in the loop: it was {kind}, it becomes {got}",
                    code="loop-type",
                )
            ends.append(value.ssa)
        self.after = after
        return ends

    def finish(self, results: Sequence[SSAValue], what: str) -> None:
        """Binds the variables after the loop."""
        values: list[Any] = []
        place = {i: wrap(result) for i, result in zip(self.kinds, results, strict=True)}
        for i, name in enumerate(self.names):
            before, after = self.before[i], self.after[i]
            if i in place:
                values.append(place[i])
            elif before is not UNBOUND and (after is before or _same(after, before)):
                values.append(before)
            else:
                values.append(Unassigned(name, f"is assigned in {what} and has no value after it"))
        self.put(tuple(values))


def run_while(test: Callable[[], Any], body: Callable[[], None], names: Sequence[str], live: Sequence[str],
              get: Callable[[], Values], put: Callable[[Values], None]) -> None:  # fmt: skip
    """A rewritten `while`."""
    tracer = tracing("while")
    before = get()
    scratch = Block()
    with tracer.scope(scratch, "a loop"):
        first = test()
    if not isinstance(first, Value):
        while test():
            body()
        return
    put(_restored(before, names))

    def once(_: list[Any]) -> None:
        test()
        body()

    carried = _Carried(tracer, names, live, before, put, get, once)
    head, block = Block(arg_types=carried.attributes), Block(arg_types=carried.attributes)
    carried.bind(head.args)
    with tracer.scope(head, "a loop"):
        condition = as_scalar(_truth(test()), I1, "the condition")
        passed = [value.ssa if isinstance(value, Value) else tracer.constant(value, carried.kinds[i])
                  for i in carried.kinds for value in [get()[i]]]  # fmt: skip
        head.add_op(scf.ConditionOp(condition, *passed))
    carried.bind(block.args)
    with tracer.scope(block, "a loop"):
        body()
        block.add_op(scf.YieldOp(*carried.ends()))
    op = scf.WhileOp(carried.initial(), carried.attributes, Region(head), Region(block))
    tracer.insert(op)
    carried.finish(list(op.results), "a run-time `while`")


def both(first: Any, second: Callable[[], Any]) -> Any:
    """A rewritten `and`."""
    return first & second() if isinstance(first, Scalar) else first and second()


def either(first: Any, second: Callable[[], Any]) -> Any:
    """A rewritten `or`."""
    return first | second() if isinstance(first, Scalar) else first or second()


def negated(value: Any) -> Any:
    """A rewritten `not`."""
    return ~_truth(value) if isinstance(value, Scalar) else not value


def chosen(condition: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """A rewritten conditional expression; both sides are computed when the condition is traced."""
    if not isinstance(condition, Value):
        return first() if condition else second()
    return select(_truth(condition), first(), second())


# --- the explicit forms ---------------------------------------------------------------------------------------


class For:
    """`with pto.for_(lo, hi, step=1) as i:`; with `.carry(x=v)` the scope gives the loop: `loop.iv`, `loop.x`,
    `loop.update(x=new)`, and afterwards `loop.final.x`."""

    def __init__(self, low: object, high: object, *, step: object = 1):
        tracing("pto.for_")
        self._bounds = (low, high, step)
        self._carried: dict[str, Value] = {}
        self._next: dict[str, SSAValue] = {}

    def carry(self, **values: object) -> "For":
        """States the carried values."""
        for name, value in values.items():
            if isinstance(value, bool | int | float):
                value = cast(value, F32 if isinstance(value, float) else INDEX)
            if not isinstance(value, Value):
                raise wrong_type(f"carried value '{name}' must be a traced value or a number, got {value!r}")
            self._carried[name] = value
        return self

    def __enter__(self) -> Any:
        tracer = tracing("pto.for_")
        kinds = [value.ssa.type for value in self._carried.values()]
        low, high, step = (as_scalar(b, INDEX, "a bound of pto.for_") for b in self._bounds)
        self._limits = (low, high, step)
        self._block = Block(arg_types=[IndexType(), *kinds])
        self.iv = wrap(self._block.args[0])
        for name, argument in zip(self._carried, self._block.args[1:], strict=True):
            argument.name_hint = value_name(name)
            setattr(self, name, wrap(argument))
        self._scope = tracer.scope(self._block, "a loop")
        self._scope.__enter__()
        return self if self._carried else self.iv

    def update(self, **values: object) -> None:
        """The carried values of the next round."""
        for name, value in values.items():
            before = self._carried.get(name)
            if before is None:
                raise wrong_type(
                    f"the loop does not carry '{name}'; it carries {', '.join(self._carried) or 'nothing'}"
                )
            if isinstance(before, Scalar):
                self._next[name] = as_scalar(value, before.type, f"carried value '{name}'")
            elif isinstance(value, Value) and value.type == before.type:
                self._next[name] = value.ssa
            else:
                raise wrong_type(f"carried value '{name}' must be of type {before.type}, got {value!r}")

    def __exit__(self, *error: Any) -> None:
        tracer = tracing("pto.for_")
        if error[0] is None:
            ends = [self._next.get(n, self._block.args[i]) for i, n in enumerate(self._carried, 1)]
            self._block.add_op(scf.YieldOp(*ends))
        self._scope.__exit__(*error)
        if error[0] is None:
            initial = [value.ssa for value in self._carried.values()]
            op = tracer.insert(scf.ForOp(*self._limits, initial, Region(self._block)))
            self.final = Record(dict(zip(self._carried, map(wrap, op.results), strict=True)))


class Record:
    """Named values."""

    def __init__(self, values: dict[str, Any]):
        self.__dict__.update(values)

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]


class If:
    """`with pto.if_(c) as branch:` holds `with branch.then_:` and `with branch.else_:`; `branch.assign(x=v)` in both
    makes `branch.x` after them."""

    def __init__(self, condition: object):
        tracing("pto.if_")
        self._condition = condition if isinstance(condition, Value) else cast(bool(condition), I1)
        self._blocks = (Block(), Block())
        self._values: list[dict[str, Any]] = [{}, {}]
        self._current: int | None = None
        self.then_, self.else_ = _Branch(self, 0), _Branch(self, 1)

    def __enter__(self) -> "If":
        return self

    def assign(self, **values: object) -> None:
        """Gives results of the branch that is open."""
        if self._current is None:
            raise wrong_type("assign belongs inside `with branch.then_:` or `with branch.else_:`")
        self._values[self._current].update(values)

    def enter(self, number: int) -> None:
        """Opens a branch."""
        self._current = number
        self._scope = tracing("pto.if_").scope(self._blocks[number], "if")
        self._scope.__enter__()

    def leave(self, *error: Any) -> None:
        """Closes the branch."""
        self._current = None
        self._scope.__exit__(*error)

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None:
            return
        tracer = tracing("pto.if_")
        names = list(self._values[0])
        if set(names) != set(self._values[1]):
            lost = ", ".join(sorted(set(names) ^ set(self._values[1])))
            raise wrong_type(f"both branches must assign the same names; only one assigns {lost}")
        kinds: list[Any] = []
        for name in names:
            kind = _common_kind([self._values[0][name], self._values[1][name]])
            if kind is None:
                raise wrong_type(f"'{name}' has different types in the two branches")
            kinds.append(kind)
        for block, values in zip(self._blocks, self._values, strict=True):
            ends = [_materialized(tracer, block, values[n], k) for n, k in zip(names, kinds, strict=True)]
            block.add_op(scf.YieldOp(*ends))
        test = as_scalar(_truth(self._condition), I1, "the condition")
        then, other = (Region(block) for block in self._blocks)
        op: Operation = tracer.insert(scf.IfOp(test, [kind.attribute for kind in kinds], then, other))
        for name, result in zip(names, op.results, strict=True):
            setattr(self, name, wrap(result))


class _Branch:
    def __init__(self, owner: If, number: int):
        self.owner, self.number = owner, number

    def __enter__(self) -> None:
        self.owner.enter(self.number)

    def __exit__(self, *error: Any) -> None:
        self.owner.leave(*error)
