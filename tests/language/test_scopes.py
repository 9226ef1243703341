"""Scopes, split regions, functions and programs (spec/front.md 1.3, 1.6)."""

import pytest

from cubelane.ir import kernel
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import Direction, FunctionKind
from cubelane.ir.types import SplitMode
from cubelane.language import errors, parse, print_program
from tests.language.kernels import in_core, opaque, ops, round_trip

AT = "with pl.at(level=pl.Level.CORE_GROUP{}):\n    out = pl.assemble(out, pl.exp(x), [0, 0])\nreturn out"
REGION = "for lane in pl.split_aiv(2, mode=pl.SplitMode.{}):\n    v = pl.aiv_shard({})\n"
TENSOR_REGION = REGION.format("UP_DOWN", "x") + "    out = pl.assemble(out, v, [lane * 16, 0])\nreturn out"

OPTIONS = {
    "plain": "",
    "split": ", optimizations=[pl.split(pl.SplitMode.UP_DOWN)]",
    "slots": ", optimizations=[pl.split(pl.SplitMode.LEFT_RIGHT), pl.cross_core_slot(slot_num=4)]",
    "long names": ", optimizations=[pl.optimizations.split(pl.SplitMode.UP_DOWN)]",
    "name": ', name_hint="part"',
    "windowize": ", windowize=True",
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_scope_comes_back_with_its_options(options: str) -> None:
    module = round_trip(opaque(AT.format(options)))
    assert len(ops(module, "kernel.scope")) == 1


REFUSED_SCOPES: dict[str, tuple[str, type[Diagnostic], str]] = {
    "no level": ("with pl.at():\n    pass", errors.ParserSyntaxError, "level"),
    "other level": ("with pl.at(level=pl.Level.HOST):\n    pass", errors.UnsupportedFeatureError, "HOST"),
    "role": (AT.format(", role=pl.Role.SubWorker"), errors.ParserSyntaxError, "role"),
    "keyword": (AT.format(", speed=2"), errors.ParserSyntaxError, "speed"),
    "deps": (AT.format(", deps=[n]"), errors.UnsupportedFeatureError, "deps"),
    "options are no list": (
        AT.format(", optimizations=(pl.split(pl.SplitMode.NONE),)"),
        errors.ParserSyntaxError,
        "list literal",
    ),
    "split twice": (
        AT.format(", optimizations=[pl.split(pl.SplitMode.NONE), pl.split(pl.SplitMode.NONE)]"),
        errors.ParserSyntaxError,
        "once",
    ),
    "slots of zero": (
        AT.format(", optimizations=[pl.cross_core_slot(slot_num=0)]"),
        errors.ParserSyntaxError,
        "positive",
    ),
    "slots of a truth value": (
        AT.format(", optimizations=[pl.cross_core_slot(slot_num=True)]"),
        errors.ParserSyntaxError,
        "positive",
    ),
    "name is a keyword": (AT.format(', name_hint="for"'), errors.ParserSyntaxError, "identifier"),
    "name is computed": (AT.format(", name_hint=n"), errors.ParserSyntaxError, "string literal"),
    "two scopes": (
        "with pl.at(level=pl.Level.CORE_GROUP), pl.at(level=pl.Level.CORE_GROUP):\n    pass",
        errors.ParserSyntaxError,
        "one scope",
    ),
    "unknown manager": ("with open('f'):\n    pass", errors.UnsupportedFeatureError, "context manager"),
    "cluster": ("with pl.cluster():\n    pass", errors.UnsupportedFeatureError, "cluster"),
    "split around a region": (
        "with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.NONE)]):\n    "
        + TENSOR_REGION.replace("\n", "\n    ").replace("    return", "return"),
        errors.ParserSyntaxError,
        "pl.split",
    ),
    "three lanes": ("for l in pl.split_aiv(3, mode=pl.SplitMode.NONE):\n    pass", errors.ParserSyntaxError, "2"),
    "no mode": ("for l in pl.split_aiv(2):\n    pass", errors.ParserSyntaxError, "mode"),
    "region with carries": (
        "for l in pl.split_aiv(2, mode=pl.SplitMode.NONE, init_values=(n,)):\n    pass",
        errors.ParserSyntaxError,
        "mode",
    ),
    "region in a region": (
        "for l in pl.split_aiv(2, mode=pl.SplitMode.NONE):\n"
        "    for m in pl.split_aiv(2, mode=pl.SplitMode.NONE):\n        pass",
        errors.ParserSyntaxError,
        "inside another",
    ),
    "shard outside": ("v = pl.aiv_shard(x)", errors.InvalidOperationError, "split_aiv"),
    "shard with a split in a region": (
        "for l in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):\n    v = pl.aiv_shard(x, split=1)",
        errors.InvalidOperationError,
        "mode of the region",
    ),
    "shard with a mode": (
        "for l in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):\n    v = pl.aiv_shard(x, mode=1)",
        errors.InvalidOperationError,
        "mode",
    ),
    "shard of two": (
        "for l in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):\n    v = pl.aiv_shard(x, 1)",
        errors.InvalidOperationError,
        "one operand",
    ),
    "yield in a scope": (
        "with pl.at(level=pl.Level.CORE_GROUP):\n    a = pl.yield_(n)",
        errors.ParserSyntaxError,
        "scope",
    ),
    "return in a scope": (
        "with pl.at(level=pl.Level.CORE_GROUP):\n    return x",
        errors.UnsupportedFeatureError,
        "return",
    ),
}


@pytest.mark.parametrize(("body", "error", "word"), REFUSED_SCOPES.values(), ids=REFUSED_SCOPES.keys())
def test_scope_is_refused(body: str, error: type[Diagnostic], word: str) -> None:
    with pytest.raises(error) as caught:
        parse(opaque(body))
    assert word in str(caught.value)
    assert caught.value.location.line > 0


def test_region_starts_with_the_lane_and_gives_its_mode_to_the_boundary() -> None:
    module = round_trip(in_core(TENSOR_REGION))
    (region,) = ops(module, "kernel.split_aiv")
    first = region.regions[0].block.first_op
    assert first is not None and first.name == "tile.get_subblock_idx"
    assert first.results[0].name_hint == "lane"
    (shard,) = ops(module, "gm.aiv_shard")
    assert "1" in str(shard.properties["split"])


def test_region_outside_a_core_gets_a_scope_of_its_own() -> None:
    module = round_trip(opaque(TENSOR_REGION))
    (scope,) = ops(module, "kernel.scope")
    assert len(scope.results) == 1
    assert ops(module, "kernel.split_aiv")[0].parent_op() is scope


def test_only_what_is_read_later_leaves_a_scope() -> None:
    body = "with pl.at(level=pl.Level.CORE_GROUP):\n    a = pl.exp(x)\n    c = pl.neg(a)\nout[:, :] = c\nreturn out"
    (scope,) = ops(round_trip(opaque(body)), "kernel.scope")
    assert [r.name_hint for r in scope.results] == ["c"]


FUNCTION = """
import pypto.language as pl
@pl.program
class P:
    {decorator}
    def k(self, {parameters}){returns}:
        {body}
"""


def function(
    decorator: str = "@pl.function",
    parameters: str = "x: pl.Tensor[[8, 8], pl.FP32]",
    body: str = "pass",
    returns: str = "",
) -> str:
    return FUNCTION.format(decorator=decorator, parameters=parameters, body=body, returns=returns)


@pytest.mark.parametrize("kind", ["Opaque", "Orchestration", "InCore", "AIC", "AIV", "Group", "Spmd"])
def test_every_kind_of_function_comes_back(kind: str) -> None:
    module = round_trip(function(f"@pl.function(type=pl.FunctionType.{kind})"))
    assert kernel.kind_of(kernel.functions_of(module)[0]).dsl == kind


def test_directions_and_attributes_are_kept() -> None:
    text = function(
        "@pl.function(type=pl.FunctionType.InCore)",
        "a: pl.Out[pl.Tensor[[8], pl.FP32]], c: pl.InOut[pl.Tensor[[8], pl.FP32]], d: pl.Scalar[pl.INT64]",
        'pl.func_attr({"split": pl.SplitMode.UP_DOWN, "slot_num": 4, "split_aiv": True})',
    )
    (f,) = kernel.functions_of(round_trip(text))
    assert [kernel.direction_of(f, i) for i in range(3)] == [Direction.OUT, Direction.INOUT, Direction.IN]
    assert kernel.split_of(f) is SplitMode.UP_DOWN
    assert kernel.int_attribute(f, kernel.SLOT_NUM) == 4
    assert kernel.flag(f, kernel.SPLIT_AIV)
    assert kernel.kind_of(f) is FunctionKind.INCORE


def test_mode_none_is_the_absence_of_a_mode() -> None:
    (f,) = kernel.functions_of(parse(function(body='pl.func_attr({"split": pl.SplitMode.NONE})')))
    assert kernel.SPLIT not in f.attributes


REFUSED_FUNCTIONS: dict[str, tuple[str, type[Diagnostic], str]] = {
    "no annotation": (function(parameters="x"), errors.ParserTypeError, "missing type annotation"),
    "default": (function(parameters="x: pl.Scalar[pl.INDEX] = 2"), errors.UnsupportedFeatureError, "defaults"),
    "star": (function(parameters="*x"), errors.UnsupportedFeatureError, "plain"),
    "InOut scalar": (function(parameters="x: pl.InOut[pl.Scalar[pl.INT32]]"), errors.ParserTypeError, "InOut"),
    "no type": (function(parameters="x: 3"), errors.ParserTypeError, "no type"),
    "layout as third item": (
        function(parameters="x: pl.Tensor[[8, 8], pl.FP32, pl.TensorLayout.DN]"),
        errors.ParserTypeError,
        "view",
    ),
    "view without layout": (
        function(parameters="x: pl.Tensor[[8, 8], pl.FP32, pl.TensorView(stride=[8, 1])]"),
        errors.ParserSyntaxError,
        "layout",
    ),
    "space twice": (
        function(parameters="x: pl.Tile[[8, 8], pl.FP32, pl.Mem.Vec, pl.Mem.Mat]"),
        errors.ParserTypeError,
        "once",
    ),
    "array": (function(parameters="x: pl.Array[16, pl.INT32]"), errors.UnsupportedFeatureError, "Array"),
    "unsupported dtype": (function(parameters="x: pl.Tensor[[8], pl.HF8]"), errors.UnsupportedFeatureError, "HF8"),
    "decorator keyword": (function("@pl.function(fast=True)"), errors.ParserSyntaxError, "fast"),
    "level": (
        function("@pl.function(type=pl.FunctionType.AIC, level=pl.Level.AIV)"),
        errors.ParserSyntaxError,
        "implies level",
    ),
    "split is an int": (function(body='pl.func_attr({"split": 1})'), errors.ParserSyntaxError, "SplitMode"),
    "key twice": (function(body='pl.func_attr({"a": 1, "a": 2})'), errors.ParserSyntaxError, '"a"'),
    "key is no string": (function(body="pl.func_attr({1: 2})"), errors.ParserSyntaxError, "string literals"),
    "no dict": (function(body="pl.func_attr(split=1)"), errors.ParserSyntaxError, "dict"),
    "decorator only": (function(body='pl.func_attr({"auto_scope": True})'), errors.ParserSyntaxError, "decorator"),
    "declared result": (
        function(returns=" -> pl.Tensor[[8, 8], pl.FP32]"),
        errors.ParserTypeError,
        "declares 1 results and returns 0",
    ),
    "other result": (
        function(returns=" -> pl.Tensor[[4, 4], pl.FP32]", body="return x"),
        errors.ParserTypeError,
        "declares the result",
    ),
    "unknown function": (function(body="y = self.other(x)"), errors.UndefinedVariableError, "other"),
    "python function": (function(body="y = print(x)"), errors.InvalidOperationError, "print"),
}


@pytest.mark.parametrize(("text", "error", "word"), REFUSED_FUNCTIONS.values(), ids=REFUSED_FUNCTIONS.keys())
def test_function_is_refused(text: str, error: type[Diagnostic], word: str) -> None:
    with pytest.raises(error) as caught:
        parse(text)
    assert word in str(caught.value)
    assert caught.value.location.line > 0


CALLS = """
import pypto.language as pl
T = pl.Tensor[[8, 8], pl.FP32]
@pl.inline
def twice(a):
    s = pl.add(a, a)
    return s
@pl.function
def helper(a: T, o: pl.Out[T]) -> T:
    with pl.at(level=pl.Level.CORE_GROUP):
        o = pl.assemble(o, twice(a), [0, 0])
    return o
@pl.program
class P:
    @pl.function
    def main(self, a: T, o: pl.Out[T]):
        o, p = self.both(a, o)
        o = helper(a, o)
        return o
    @pl.function
    def both(self, a: T, o: pl.Out[T]):
        return o, a
"""


def test_calls_before_the_definition_inline_functions_and_functions_from_outside() -> None:
    module = round_trip(CALLS)
    assert [f.sym_name.data for f in kernel.functions_of(module)] == ["helper", "main", "both"]
    assert len(ops(module, "gm.add")) == 1
    assert print_program(module).index("def both") < print_program(module).index("def main")


@pytest.mark.parametrize(
    ("old", "new", "error", "word"),
    [
        ("self.both(a, o)", "self.both(a)", errors.InvalidOperationError, "2 arguments"),
        ("self.both(a, o)", "self.both(a, 1)", errors.ParserTypeError, "parameter `o`"),
        ("twice(a), [", "twice(a, a), [", errors.InvalidOperationError, "arguments a"),
        ("def both", "def helper", errors.UndefinedVariableError, "both"),
        ("        return o, a", "        return self.both(a, o)", errors.ParserSyntaxError, "calls itself"),
        ("    s = pl.add(a, a)", "    s = twice(a)", errors.UnsupportedFeatureError, "without end"),
    ],
)
def test_a_wrong_call_is_refused(old: str, new: str, error: type[Diagnostic], word: str) -> None:
    with pytest.raises(error) as caught:
        parse(CALLS.replace(old, new))
    assert word in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1",
        CALLS + CALLS.replace("class P", "class Q").split("@pl.program")[0] + "@pl.program\nclass Q:\n    pass",
    ],
)
def test_exactly_one_kernel_is_needed(text: str) -> None:
    with pytest.raises(ValueError, match="exactly one"):
        parse(text)


def test_one_of_several_kernels_is_chosen_by_name() -> None:
    text = function() + function().replace("class P", "class Q")
    assert kernel.program_name(parse(text, name="Q")) == "Q"
    with pytest.raises(errors.UndefinedVariableError, match="it has P, Q"):
        parse(text, name="R")


def test_a_single_function_is_a_program() -> None:
    text = function().split("@pl.program")[0] + "@pl.function\ndef k(x: pl.Tensor[[8, 8], pl.FP32]):\n    return x\n"
    assert [f.sym_name.data for f in kernel.functions_of(parse(text))] == ["k"]


def test_symbols_are_declared_and_read_as_numbers() -> None:
    text = function(parameters="x: pl.Tensor[[M, 8], pl.FP32]", body="for i in pl.range(0, M, 8):\n            pass")
    module = round_trip(text.replace("@pl.program", 'M = pl.dynamic("M")\n@pl.program'))
    assert len(ops(module, "gm.dim")) == 1
    assert 'M = pl.dynamic("M")' in print_program(module)
