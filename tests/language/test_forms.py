"""Every form of spec/front.md chapter 1, one row each: read and brought back from print, or refused by class and word.

A row says the chapter, the form, and the text; bodies stand in a core function (`core`) or a host one (`host`).
"""

import numpy as np
import pytest

import cubelane.language as pl
from cubelane.check.execute import run_reference
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import errors, parse
from tests.language.kernels import in_core, opaque, round_trip

LOAD = "t = pl.load(x, [0, 0], [8, 8])\n"
AT = "with pl.at(level=pl.Level.CORE_GROUP{}):\n    out[:] = pl.exp(x)\nreturn out"
REGION = "for lane in pl.split_aiv(2, mode=pl.SplitMode.{}):\n    out = pl.store(pl.load(x, [16 * lane, 0], [16, 64]), "
REGION += "[16 * lane, 0], out)\nreturn out"


def core(body: str, **more: str) -> str:
    return in_core(LOAD + body, **more)


def host(body: str, **more: str) -> str:
    return opaque(body, **more)


def function(decorator: str, parameters: str = "x: pl.Tensor[[8, 8], pl.FP32]", returns: str = "") -> str:
    return (
        "import pypto.language as pl\nM = pl.dynamic('M')\nK = 4\nclass T:\n    pass\n@pl.program\nclass P:\n"
        f"    {decorator}\n    def k(self, {parameters}){returns}:\n        return x\n"
    )


def typed(annotation: str) -> str:
    return function("@pl.function", f"x: {annotation}")


INCORE = "@pl.function(type=pl.FunctionType.InCore)"

ACCEPTED: dict[str, str] = {
    # 1.1
    "1.1 program with strict_ssa": core("s = pl.exp(t)").replace("@pl.program", "@pl.program(strict_ssa=True)"),
    "1.1 free function": "import pypto.language as pl\n@pl.function\ndef k(a: pl.Tensor[[8], pl.FP32]):\n    return a",
    "1.1 inline": core("s = g(t)", head="@pl.inline\ndef g(a):\n    return pl.exp(a)"),
    "1.1 jit.inline": core("s = g(t)", head="@pl.jit.inline\ndef g(a):\n    return pl.exp(a)"),
    "1.1 jit.incore called": host(
        "out = g(x, out)\nreturn out",
        head="@pl.jit.incore\ndef g(a, o: pl.Out):\n    return pl.store(pl.load(a, [0, 0], [8, 8]), [0, 0], o)",
    ),
    "1.1 function from outside": host(
        "y2 = g(x)\nreturn y2",
        head="@pl.function\ndef g(a: pl.Tensor[[32, 64], pl.FP32]):\n    return pl.exp(a)",
    ),
    "1.1 constants from around": core("i = n + N", head="N = 3"),
    # 1.2
    "1.2 get_byte": core("i = n + pl.FP16.get_byte()"),
    "1.2 const": core("i = w + pl.const(3, pl.INT32)"),
    "1.2 bool": core("c = True\nif c:\n    pass"),
    **{f"1.2 {d}": typed(f"pl.Tensor[[8], pl.{d}]") for d in ("BOOL", "INT4", "UINT64", "BF16", "FP8E5M2", "FP4")},
    # 1.3
    **{
        f"1.3 type {kind}": function(f"@pl.function(type=pl.FunctionType.{kind})")
        for kind in ("Opaque", "Orchestration", "InCore", "AIC", "AIV", "Group", "Spmd")
    },
    "1.3 level and role": function(
        "@pl.function(type=pl.FunctionType.AIV, level=pl.Level.AIV, role=pl.Role.SubWorker)"
    ),
    "1.3 auto_scope": function("@pl.function(auto_scope=False)"),
    "1.3 attrs": function('@pl.function(attrs={"slot_num": 4})'),
    "1.3 tuple result": function("@pl.function", returns=" -> tuple[pl.Tensor[[8, 8], pl.FP32]]"),
    "1.3 quoted annotation": typed('"pl.Tensor[[8, 8], pl.FP32]"'),
    # 1.4
    "1.4 scalar": typed("pl.Scalar[pl.INT32]"),
    "1.4 call form": typed("pl.Tensor((8, 8), pl.FP32)"),
    "1.4 out": typed("pl.Out[pl.Tensor[[8, 8], pl.FP32]]"),
    "1.4 dynamic": typed("pl.Tensor[[M, 8], pl.FP32]"),
    "1.4 dynamic product": typed("pl.Tensor[[M * 2, 8], pl.FP32]"),
    "1.4 dynamic expression": typed("pl.Tensor[[(M + 1) * K - 3, M // 2, M % 4], pl.FP32]"),
    "1.4 printed expression": typed("pl.Tensor[[M * pl.const(2, pl.INDEX) + pl.const(1, pl.INDEX)], pl.FP32]"),
    "1.4 closure dims": typed("pl.Tensor[[K * 2, K], pl.FP32]"),
    "1.4 view": typed("pl.Tensor[[8, 8], pl.FP32, pl.TensorView(stride=[1, 8], layout=pl.TensorLayout.DN)]"),
    "1.4 valid shape": typed(
        "pl.Tensor[[8, 8], pl.FP32, pl.TensorView(valid_shape=[8, 5], layout=pl.TensorLayout.ND)]"
    ),
    "1.4 memref": typed('pl.Tensor[[8, 8], pl.FP32, pl.MemRef("m", 0, 256)]'),
    "1.4 tile": typed("pl.Tile[[8, 8], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[8, 5])]"),
    # 1.5
    "1.5 annotated": core("s: pl.Tile[[8, 8], pl.FP32, pl.Mem.Vec] = pl.exp(t)"),
    "1.5 annotated constant": core("i: pl.Scalar[pl.INT64] = 3\nj = i + 1"),
    "1.5 string annotation": core("s: 'anything' = pl.exp(t)"),
    "1.5 unknown type": core("s: pl.UnknownType = pl.exp(t)"),
    "1.5 narrowed": core("s: pl.Tile[[8, 8], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[8, 5])] = pl.exp(t)"),
    "1.5 tuple": core("a, c = (n, t)"),
    "1.5 tuple of a call": host(
        "a, c = self.two(x)\nreturn c",
    ).replace(
        "    @pl.function\n",
        "    @pl.function\n    def two(self, x: pl.Tensor[[32, 64], pl.FP32]):\n        return x, pl.exp(x)\n"
        "    @pl.function\n",
        1,
    ),
    "1.5 subscript store": host("out[0:8, :] = x[8:16, :]\nreturn out"),
    "1.5 row store": host("out[n, :] = x[3, :]\nreturn out"),
    "1.5 cell store": host("out[n, 0] = 2.5\nreturn out"),
    "1.5 if": core("if n > 0:\n    t = pl.exp(t)\nout = pl.store(t, [0, 0], out)\nreturn out"),
    "1.5 if with yield": core(
        "if n > 0:\n    r = pl.yield_(t)\nelse:\n    r = pl.yield_(pl.exp(t))\nout = pl.store(r, [0, 0], out)"
    ),
    "1.5 while": core("i = n\nwhile i > 0:\n    i = i - 1"),
    "1.5 while_": core(
        "for (i, s) in pl.while_(init_values=(n, t)):\n    pl.cond(i > 0)\n    i2, s2 = pl.yield_(i - 1, pl.exp(s))"
    ),
    **{
        f"1.5 {word}": core(f"for i in pl.{word}({bounds}):\n    t = pl.exp(t)")
        for word, bounds in (
            ("range", "4"),
            ("range", "1, n"),
            ("parallel", "0, 8, 2"),
            ("unroll", "3"),
            ("pipeline", "n, stage=2"),
        )
    },
    "1.5 counting down": core("for i in pl.range(7, -1, -1):\n    out = pl.store(t, [i, 0], out)"),
    "1.5 counting down at run time": core("for i in pl.range(n, 0, -3):\n    out = pl.store(t, [i, 0], out)"),
    "1.5 carries": core(
        "for i, (s,) in pl.range(4, init_values=(t,)):\n    s2 = pl.yield_(pl.exp(s))\nout = pl.store(s2, [0, 0], out)"
    ),
    "1.5 carries without yield": core("for i, (s,) in pl.range(4, init_values=(t,)):\n    q = pl.exp(s)"),
    "1.5 init_values as a list": core("for i, (s,) in pl.range(4, init_values=[t]):\n    s2 = pl.yield_(pl.exp(s))"),
    "1.5 loop attrs": core('for i in pl.range(4, attrs={"tag": 3, "note": "x"}):\n    t = pl.exp(t)'),
    "1.5 break": core("for i in pl.range(4):\n    if i > n:\n        break\n    t = pl.exp(t)"),
    "1.5 break in a downward loop": core(
        "for i in pl.range(n, 0, -1):\n    if i < 3:\n        break\n    out = pl.store(t, [i, 0], out)"
    ),
    "1.5 continue": core("for i in pl.pipeline(4, stage=2):\n    if i > n:\n        continue\n    t = pl.exp(t)"),
    "1.5 break of a while": core("while n > 0:\n    t = pl.exp(t)\n    if w > 3:\n        break"),
    "1.5 early return": core("if n > 0:\n    return pl.store(t, [0, 0], out)\nreturn out"),
    "1.5 early return beside the names of the user": core(
        "returned_1 = n + 2\nif n > 0:\n    return pl.store(t, [returned_1, 0], out)\nreturn out"
    ),
    "1.5 return of two": core("return out, x"),
    "1.5 no return": core("pl.store(t, [0, 0], out)"),
    "1.5 static_assert": core("pl.static_assert(N == 4, 'four')", head="N = 4"),
    "1.5 pass": core("pass"),
    "1.5 alloc": core(
        "m: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 256)\n"
        "s: pl.Tile[[8, 8], pl.FP32, pl.MemRef(m, pl.const(0, pl.INT64), 256), pl.Mem.Vec] = pl.tile.exp(t)"
    ),
    "1.5 bare string": core("'a comment'"),
    "1.5 another space": core("s: pl.Tile[[8, 8], pl.FP32, pl.Mem.Mat] = pl.load(x, [0, 0], [8, 8])"),
    # 1.6
    "1.6 at": host(AT.format("")),
    "1.6 at, positional level": host(AT.format("").replace("level=", "")),
    "1.6 at with options": host(
        AT.format(
            ", optimizations=[pl.split(pl.SplitMode.UP_DOWN), pl.cross_core_slot(slot_num=4)], name_hint='h', "
            "windowize=True"
        )
    ),
    "1.6 optimizations by path": host(AT.format(", optimizations=[pl.optimizations.split(pl.SplitMode.NONE)]")),
    "1.6 old slot_num": host(AT.format(", optimizations=[pl.split(pl.SplitMode.UP_DOWN, slot_num=2)]")),
    "1.6 spmd": host("for i in pl.spmd(4, name_hint='k'):\n    out[i * 8 : i * 8 + 8, :] = x[i * 8 : i * 8 + 8, :]"),
    **{f"1.6 region {mode}": core(REGION.format(mode)) for mode in ("NONE", "UP_DOWN", "LEFT_RIGHT")},
    "1.6 region outside of a core": host(
        "for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):\n    y2 = pl.exp(x)\nreturn y2"
    ),
    "1.6 shard": core(
        "a = pl.load(x, [0, 0], [16, 16], target_memory=pl.Mem.Mat)\nc = pl.tile.matmul(a, a)\n"
        "for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):\n    h = pl.aiv_shard(c)\n"
        "    out = pl.store(h, [8 * lane, 0], out)"
    ),
    "1.6 shard outside": core(
        "a = pl.load(x, [0, 0], [16, 16], target_memory=pl.Mem.Mat)\nh = pl.aiv_shard(pl.tile.matmul(a, a), split=1)"
    ),
    # 1.7
    **{
        f"1.7 {e}": core(f"i = {e}")
        for e in (
            *("n + 1", "n - 1", "n * 2", "n // 2", "n % 2", "n << 1", "n >> 1", "n & 3", "n | 4", "n ^ 1", "n ** 3"),
            *("-n", "~n", "+n", "abs(n)", "min(n, 3)", "max(n, 3, 5)", "pl.min(n, 2)", "pl.max(n, 2)", "f / 2.0"),
            *("pl.cast(w, pl.INDEX)", "n if b else 3", "n < 3 and not b or n > 5", "w == 3", "f != 0.5", "2 ** 3 + 1"),
        )
    },
    **{
        f"1.7 tiles {e}": core(f"s = {e}")
        for e in (
            *("t + t", "t - 1.0", "2.0 * t", "t / t", "-t", "abs(t)", "max(t, t)", "min(t, 0.5)", "t ** 2", "t ** 0.5"),
            *("1.0 - t", "1.0 / t", "t % t", "t < t"),
        )
    },
    "1.7 bits of tiles": core("i = pl.cast(t, target_type=pl.INT32)\ns = ((i & 3) | (i ^ i)) << 1\nr = ~s >> 2"),
    "1.7 element": core("v = x[n, 3]\nj = v + 1.0"),
    "1.7 window": core("v = t[0:4, :]"),
    "1.7 tuple item": core("p = (n, t)\ns = pl.exp(p[1])"),
    "1.7 fewer indices": host("v = x[3]\nreturn v"),
    "1.7 pad by number": core("s = pl.fillpad(t, -math.inf)", head="import math"),
    "1.7 keyword for enum": core("s = pl.move(t, target_memory=pl.Mem.Vec)"),
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_a_form_comes_back_from_print(text: str) -> None:
    round_trip(text)


Syntax, Type, Unsupported = errors.ParserSyntaxError, errors.ParserTypeError, errors.UnsupportedFeatureError
Invalid, Undefined = errors.InvalidOperationError, errors.UndefinedVariableError

REFUSED: dict[str, tuple[str, type[Diagnostic], str]] = {
    "1.1 nothing": ("import pypto.language as pl\n", errors.KernelCountError, "holds no"),
    "1.1 host": (core("pass", head="@pl.jit.host\ndef h(a):\n    pass"), Unsupported, "host"),
    "1.1 types of a jit kernel": (
        "import pypto.language as pl\n@pl.jit\ndef k(x):\n    return x\n",
        errors.NeedsArguments,
        "arguments of a call",
    ),
    "1.2 misfit": (core("i = w + pl.const(2 ** 40, pl.INT32)"), Type, "no value of pl.INT32"),
    "1.3 missing annotation": (function("@pl.function", "x"), Type, "missing type annotation"),
    "1.3 Graph": (function("@pl.function(type=pl.FunctionType.Graph)"), Unsupported, "Graph"),
    "1.3 role": (
        function("@pl.function(type=pl.FunctionType.AIV, role=pl.Role.Orchestrator)"),
        Syntax,
        "implies role",
    ),
    "1.3 attribute of an unknown name": (
        core("pass").replace("t = pl.load", 'pl.func_attr({"a": nope})\n        t = pl.load'),
        Undefined,
        "nope",
    ),
    "1.3 func_attr later": (core('pl.func_attr({"a": 1})'), Syntax, "first"),
    "1.4 bare element type": (typed("pl.INT64"), Type, "Incomplete type annotation"),
    "1.4 bare layout": (typed("pl.Tensor[[8], pl.FP32, pl.TensorLayout.DN]"), Type, "view"),
    "1.4 array": (typed("pl.Array[16, pl.INT32]"), Unsupported, "Array"),
    "1.4 dimension": (typed("pl.Tensor[[8.5], pl.FP32]"), Type, "dimension"),
    "1.4 dynamic division": (typed("pl.Tensor[[M / 2], pl.FP32]"), Type, "dimension"),
    "1.4 dynamic name": (
        function("@pl.function").replace("pl.dynamic('M')", "pl.dynamic('a b')").replace("[8, 8]", "[M, 8]"),
        Type,
        "dimension",
    ),
    **{
        f"1.5 {name}": (core(text), Unsupported, f"Unsupported statement type: {name}")
        for name, text in {
            "AugAssign": "n += 1",
            "Delete": "del n",
            "Assert": "assert n",
            "Raise": "raise n",
            "Try": "try:\n    pass\nfinally:\n    pass",
            "FunctionDef": "def g():\n    pass",
            "ClassDef": "class C:\n    pass",
            "Import": "import os",
            "Global": "global n",
            "Match": "match n:\n    case 1:\n        pass",
            "AsyncFor": "async def g():\n    pass",
        }.items()
        if name != "AsyncFor"
    },
    "1.5 other type": (core("t = n"), Type, "different type"),
    "1.5 strict_ssa": (
        core("t = pl.exp(t)").replace("@pl.program", "@pl.program(strict_ssa=True)"),
        errors.SSAViolationError,
        "bound first at",
    ),
    "1.5 store under strict_ssa": (
        host("out[0:8, :] = x[0:8, :]").replace("@pl.program", "@pl.program(strict_ssa=True)"),
        Unsupported,
        "strict_ssa",
    ),
    "1.5 target": (core("x.y = n"), Syntax, "can be assigned"),
    "1.5 store to no name": (core("(t)[0:8][0] = t"), Syntax, "named variable"),
    "1.5 extent of a store": (host("out[0:8, :] = x[0:4, :]"), Type, "takes a value of that shape"),
    "1.5 condition": (core("if n:\n    pass"), Type, "truth value"),
    "1.5 one arm yields": (core("if b:\n    r = pl.yield_(t)\nelse:\n    pass"), Syntax, "one arm"),
    "1.5 cond elsewhere": (core("pl.cond(b)"), Invalid, "Unknown operation 'pl.cond'"),
    "1.5 while_ positional": (core("for (i,) in pl.while_(n):\n    pl.cond(b)"), Syntax, "init_values="),
    "1.5 Python's range": (core("for i in range(4):\n    pass"), Unsupported, "iterator"),
    "1.5 zero step": (core("for i in pl.range(0, 4, 0):\n    pass"), Syntax, "zero"),
    "1.5 keyword": (core("for i in pl.range(4, chunk=2):\n    pass"), Syntax, "init_values, attrs"),
    "1.5 stage": (core("for i in pl.pipeline(4):\n    pass"), Syntax, "stage="),
    "1.5 stage 0": (core("for i in pl.pipeline(4, stage=0):\n    pass"), Syntax, "at least 1"),
    "1.5 unroll at run time": (core("for i in pl.unroll(n):\n    pass"), Syntax, "constant bounds"),
    "1.5 bare yield": (core("for i, (s,) in pl.range(4, init_values=(t,)):\n    pl.yield_(s)"), Syntax, "assigned"),
    "1.5 yield outside": (core("r = pl.yield_(t)"), Syntax, "loop or an if"),
    "1.5 name of a loop without yield": (
        core("for i in pl.range(4):\n    s = pl.exp(t)\nout = pl.store(s, [0, 0], out)"),
        Undefined,
        "inside a loop only",
    ),
    "1.5 break in parallel": (core("for i in pl.parallel(4):\n    break"), Invalid, "pl.parallel"),
    "1.5 continue in unroll": (core("for i in pl.unroll(4):\n    continue"), Invalid, "pl.unroll"),
    "1.5 break in a region": (
        core("for i in pl.split_aiv(2, mode=pl.SplitMode.NONE):\n    break"),
        Invalid,
        "pl.split_aiv",
    ),
    "1.5 break outside": (core("break"), Syntax, "outside loop"),
    "1.5 else of a loop": (core("for i in pl.range(4):\n    pass\nelse:\n    pass"), Unsupported, "`else`"),
    "1.5 static_assert": (core("pl.static_assert(1 > 2, 'why not')"), errors.ParserError, "why not"),
    "1.5 no effect": (core("n + 1"), Syntax, "no effect"),
    "1.6 level": (host(AT.format("").replace("CORE_GROUP", "CHIP")), Unsupported, "CHIP"),
    "1.6 role": (host(AT.format(", role=pl.Role.SubWorker")), Syntax, "role"),
    "1.6 options twice": (
        host(AT.format(", optimizations=[pl.split(pl.SplitMode.NONE), pl.split(pl.SplitMode.NONE)]")),
        Syntax,
        "once",
    ),
    "1.6 slot_num": (host(AT.format(", optimizations=[pl.cross_core_slot(slot_num=True)]")), Syntax, "slot_num"),
    "1.6 options no list": (host(AT.format(", optimizations=pl.split(pl.SplitMode.NONE)")), Syntax, "list literal"),
    "1.6 hint": (host(AT.format(", name_hint='a b'")), Syntax, "identifier"),
    "1.6 deps": (host(AT.format(", deps=[]")), Unsupported, "deps"),
    "1.6 as": (host(AT.format("").replace("):", ") as tid:")), Unsupported, "`as`"),
    "1.6 two managers": (host("with pl.at(level=pl.Level.CORE_GROUP), pl.cluster():\n    pass"), Syntax, "one scope"),
    "1.6 cluster": (host("with pl.cluster():\n    pass"), Unsupported, "pl.cluster"),
    "1.6 spmd dispatch": (host("with pl.spmd(4):\n    pass"), Unsupported, "pl.spmd"),
    "1.6 spmd block": (host("for i in pl.spmd(4):\n    j = pl.tile.get_block_idx()"), Unsupported, "block"),
    "1.6 spmd keyword": (host("for i in pl.spmd(4, core_num=2):\n    pass"), Syntax, "core_num"),
    "1.6 manual_scope": (host("with pl.manual_scope():\n    pass"), Unsupported, "orchestration"),
    "1.6 another manager": (host("with open('f'):\n    pass"), Unsupported, "context manager"),
    "1.6 three lanes": (core("for i in pl.split_aiv(3, mode=pl.SplitMode.NONE):\n    pass"), Syntax, "which is 2"),
    "1.6 no mode": (core("for i in pl.split_aiv(2):\n    pass"), Syntax, "mode="),
    "1.6 nested regions": (
        core(
            "for i in pl.split_aiv(2, mode=pl.SplitMode.NONE):\n"
            "    for j in pl.split_aiv(2, mode=pl.SplitMode.NONE):\n        pass"
        ),
        Syntax,
        "inside another",
    ),
    "1.6 split beside a region": (
        host(
            "with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.NONE)]):\n"
            "    for i in pl.split_aiv(2, mode=pl.SplitMode.NONE):\n        pass"
        ),
        Syntax,
        "pl.split_aiv",
    ),
    "1.6 shard of a tensor outside": (core("h = pl.aiv_shard(x)"), Invalid, "region"),
    "1.6 split= inside": (
        core("for i in pl.split_aiv(2, mode=pl.SplitMode.NONE):\n    h = pl.aiv_shard(t, split=1)"),
        Invalid,
        "mode of the region",
    ),
    **{
        f"1.7 {name}": (core(f"i = {text}"), Unsupported, f"Unsupported expression type: {name}")
        for name, text in {
            "Lambda": "lambda: 0",
            "Dict": "{1: 2}",
            "Set": "{1}",
            "ListComp": "[n for j in t]",
            "JoinedStr": "f'{n}'",
            "NamedExpr": "(j := n)",
        }.items()
    },
    "1.7 chained": (core("c = 0 < n < 4"), Syntax, "chained"),
    "1.7 in": (core("c = n in t"), Type, "cannot be compared"),
    "1.7 unknown name": (core("i = nn"), Undefined, "`nn`"),
    "1.7 index with float": (core("i = n + 0.5"), Type, "nothing is converted"),
    "1.7 step": (core("s = t[0:8:2, :]"), Unsupported, "step"),
    "1.7 ellipsis": (core("s = t[...]"), Type, "`...`"),
    "1.7 negative index": (core("v = x[-1, 0]"), Syntax, "provably negative"),
    "1.7 unknown op": (core("s = pl.expp(t)"), Invalid, "Unknown operation 'pl.expp'"),
    "1.7 unknown tile op": (core("s = pl.tile.expp(t)"), Invalid, "Unknown pl.tile operation: expp"),
    "1.7 arrays": (core("s = pl.array.make(3)"), Unsupported, "integer arrays"),
    "1.7 Python function": (core("i = len(t)"), Invalid, "`len`"),
    "1.7 method": (core("i = t.sum()"), Invalid, "functions of the program"),
    "1.7 foreign": (core("i = np.exp(t)", head="import numpy as np"), Unsupported, "`np.exp`"),
    "1.7 star": (core("s = pl.exp(*t)"), Invalid, "`*`"),
    "1.7 exponent": (core("i = n ** w"), Unsupported, "exponent"),
}


@pytest.mark.parametrize(("text", "error", "word"), REFUSED.values(), ids=REFUSED.keys())
def test_a_form_is_refused_by_class_and_word(text: str, error: type[Diagnostic], word: str) -> None:
    with pytest.raises(error) as caught:
        parse(text, "k.py")
    assert word in str(caught.value), str(caught.value)
    assert caught.value.location.line > 0 or error is errors.KernelCountError


# what some forms mean


def ran(text: str, **scalars: int) -> np.ndarray:
    rows, columns = np.indices((32, 64))
    given = {"x": (rows * 64 + columns).astype(np.float32), "y": np.ones((32, 64), np.float32)}
    given |= {"out": np.full((32, 64), -77, np.float32), "n": 0, "w": 0, "u": 0, "f": 0.0, "b": False, **scalars}
    return run_reference(parse(text), given)["out"]


X = (np.indices((32, 64))[0] * 64 + np.indices((32, 64))[1]).astype(np.float32)
COUNT = "i2 = 0\nfor i in pl.range({}):\n    row = pl.load(x, [i, 0], [1, 64])\n    out = pl.store(row, [i2, 0], out)\n"
COUNT += "    i2 = i2 + 1\nreturn out"


@pytest.mark.parametrize("bounds", ["7, -1, -1", "20, 3, -4", "n, w2, -3", "n, w2, -1", "3, 9, -1", "4, 4, -2"])
def test_a_loop_counts_down_like_python(bounds: str) -> None:
    out = ran(in_core("w2 = pl.cast(w, pl.INDEX)\n" + COUNT.format(bounds)), n=17, w=2)
    wanted = np.full((32, 64), -77, np.float32)
    for at, i in enumerate(eval(f"range({bounds})", {"n": 17, "w2": 2, "range": range})):
        wanted[at] = X[i]
    np.testing.assert_array_equal(out, wanted)


def test_a_break_of_a_downward_loop_stops_there() -> None:
    body = (
        "for i in pl.range(9, 0, -2):\n    if i < n:\n        break\n    out = pl.store(pl.load(x, [i, 0], [1, 64]), "
    )
    out = ran(in_core(body + "[i, 0], out)\nreturn out"), n=4)
    assert sorted(set(np.flatnonzero(out[:, 0] != -77))) == [5, 7, 9]


def test_the_blocks_of_spmd_are_all_run() -> None:
    body = "for i in pl.spmd(4):\n    out[i * 8 : i * 8 + 8, :] = pl.mul(x[i * 8 : i * 8 + 8, :], 2.0)\nreturn out"
    np.testing.assert_array_equal(ran(opaque(body)), 2 * X)


def test_an_early_return_keeps_a_name_of_the_user_that_looks_like_ours() -> None:
    body = (
        "returned_1 = n + 2\nt = pl.load(x, [0, 0], [1, 64])\nif n > 0:\n    return pl.store(t, [returned_1, 0], out)\n"
    )
    out = ran(in_core(body + "return out"), n=3)
    assert np.flatnonzero(out[:, 0] != -77).tolist() == [5]


def test_a_run_time_extent_that_is_a_sum_has_its_value() -> None:
    head = 'M = pl.dynamic("M")'
    text = in_core(
        "for i in pl.range(M * 2 + 1):\n    out = pl.store(pl.load(x, [i, 0], [1, 8]), [i, 0], out)\nreturn out",
        "x: pl.Tensor[[M * 2 + 1, 8], pl.FP32], s: pl.Tensor[[M, 8], pl.FP32], out: pl.Out[pl.Tensor[[9, 8], pl.FP32]]",
        head,
    )
    x = np.arange(72, dtype=np.float32).reshape(9, 8)
    given = {"x": x, "s": np.zeros((4, 8), np.float32), "out": np.zeros((9, 8), np.float32)}
    np.testing.assert_array_equal(run_reference(round_trip(text), given)["out"], x)
    with pytest.raises(Diagnostic, match=r"must have the shape \['M', 8\]"):
        run_reference(parse(text), {**given, "s": np.zeros((5, 8), np.float32)})


def test_arithmetic_on_run_time_extents_is_text() -> None:
    m, k = pl.dynamic("M"), pl.dynamic("K")
    assert [s.name for s in (m * 2 + 1, (m + 1) * 2, 3 - m, m - (k - 1), (m * k) // 4 % 3, 8 // (m + k))] == [
        "M * 2 + 1",
        "(M + 1) * 2",
        "3 - M",
        "M - (K - 1)",
        "M * K // 4 % 3",
        "8 // (M + K)",
    ]
    with pytest.raises(TypeError, match="integers"):
        m + 0.5  # pyright: ignore


def test_static_print_says_where_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    parse(core("pl.static_print('N', N, t)", head="N = 4"), "k.py")
    printed = capsys.readouterr().out
    assert printed.startswith("static_print [k.py:") and "N 4 pl.Tile[[8, 8], pl.FP32, pl.Mem.Vec]" in printed
