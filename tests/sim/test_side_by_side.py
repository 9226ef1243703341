"""Both lanes in one program: the same cells and events as lane by lane, for every op that may take part."""

import numpy as np
import pytest

from cubelane import language
from cubelane.check.compiled import compile_program
from cubelane.check.execute import Executable, Schedule, run_group
from cubelane.check.kernel_file import read_judge, read_program
from cubelane.emit.numpy_pair import goes_over_lanes, runs_side_by_side
from cubelane.ir.context import DIALECTS
from cubelane.ir.kernel import functions_of
from cubelane.ir.surface import OPERAND_KINDS, Kind, SurfaceOp
from cubelane.ir.traits import Meaning, Split, Splits
from cubelane.sim.machine import Machine
from cubelane.sim.primitives import PURE, Poison
from tests.examples.files import BY_COLUMNS, FILES

OPS = [op for dialect in DIALECTS for op in dialect.operations if issubclass(op, SurfaceOp)]
BOX = (8, 16)


def trait(op, kind):
    return next((t for t in op.traits.traits if isinstance(t, kind)), None)


def over_lanes(op) -> bool:
    splits = trait(op, Splits)
    memory = splits is not None and splits.behaviour in (Split.LOADS, Split.STORES, Split.CHANNEL, Split.NONE)
    return op.name.startswith("tile.") and not memory and goes_over_lanes(splits, trait(op, Meaning))


def operand(parameter, rng):
    """Both lanes of an operand, the lane axis in front."""
    if parameter.kind is Kind.SCALAR:
        return 3
    shape = {"row_vector": (8, 1), "col_vector": (1, 16), "mask": (8, 32)}.get(parameter.name, BOX)
    return rng.integers(1, 9, (2, *shape)).astype(np.uint8 if parameter.name == "mask" else np.int32)


def evaluate(op, lanes):
    """The meaning of an op on operands with or without the lane axis."""
    names = {"inf": float("inf"), "shape": (16, 8) if trait(op, Splits).behaviour is Split.RESHAPES else BOX}
    if trait(op, Splits).packed == ("result",):
        names["shape"] = (8, 32)
    if lanes is None or any(isinstance(v, np.ndarray) and v.ndim == 3 for v in lanes.values()) or not lanes:
        names["shape"] = (2, *names["shape"])
    names |= {"dtype": np.dtype(np.int32), "mode": "rint", "cmp_type": 2, "value": 5, **(lanes or {})}
    text = trait(op, Meaning).value.replace("{", "v_").replace("}", "")
    return eval(text, {**PURE, "poison": Poison().fill, **{f"v_{k}": v for k, v in names.items()}})


@pytest.mark.parametrize("op", [op for op in OPS if over_lanes(op)], ids=lambda op: op.name)
def test_every_op_that_may_run_on_both_lanes_treats_them_alike(op):
    rng = np.random.default_rng(3)
    both = {p.name: operand(p, rng) for p in op.PARAMETERS if p.kind in OPERAND_KINDS}
    tiles = {n: v for n, v in both.items() if isinstance(v, np.ndarray)}
    together = evaluate(op, both) if tiles else evaluate(op, None)
    for lane in (0, 1):
        alone = {n: v[lane] if n in tiles else v for n, v in both.items()}
        alone = evaluate(op, alone) if tiles else together[0]
        assert together[lane].dtype == alone.dtype
        np.testing.assert_array_equal(together[lane], alone)


def test_the_ops_of_the_walk_are_many():
    assert len([op for op in OPS if over_lanes(op)]) > 60


def launches(executable, inputs, paired):
    """Outputs and the events of each agent but for its waits; whether lanes ran side by side."""
    machine = Machine(executable, Schedule(), Poison(), paired)
    [function] = executable.entry(None)
    arguments = [np.array(inputs[n.name_hint]) if n.name_hint in inputs else np.zeros(1, np.float32)
                 for n in function.body.block.args]  # fmt: skip
    machine.call(function.sym_name.data, arguments)
    assert not machine.findings
    events = {}
    for event in machine.events():
        if event.kind != "wait":
            events.setdefault(event.agent, []).append((event.kind, event.detail, event.slot, event.location))
    return arguments, events, any(group.pairs for group in machine.groups)


@pytest.mark.parametrize("path", FILES[::4], ids=lambda path: path.stem)
def test_examples_do_the_same_side_by_side_as_lane_by_lane(path):
    inputs = read_judge(path).inputs()
    for mode in ("up_down", "left_right"):
        if mode == "left_right" and path.stem not in BY_COLUMNS:
            continue
        module = compile_program(read_program(str(path)), "a2a3", mode).module
        executable = Executable(module)
        alone, events, _ = launches(executable, inputs, paired=False)
        together, same, paired = launches(executable, inputs, paired=True)
        assert paired == bool(executable.pairs)
        assert events == same
        for a, b in zip(alone, together, strict=True):
            np.testing.assert_array_equal(a, b)


LANES = """
import cubelane.language as pl

@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.AIV, attrs={"split": pl.SplitMode.UP_DOWN})
    def k_aiv(self, x: pl.Tensor[[32, 16], pl.FP32], y: pl.Out[pl.Tensor[[32, 16], pl.FP32]]
              ) -> pl.Tensor[[32, 16], pl.FP32]:
        lane = pl.tile.get_subblock_idx()
        t = pl.tile.load(x, [lane * 16, 0], [16, 16])
        BODY
        out = pl.tile.store(s, [lane * 16, 0], y)
        return out
"""


def lanes(body: str):
    module = language.parse(LANES.replace("BODY", body), filename="k.py")
    return module, functions_of(module)[0]


@pytest.mark.parametrize(
    "body, together",
    [
        ("s = pl.tile.add(t, t)", True),
        ("s = pl.tile.row_expand_sub(t, pl.tile.row_max(t, pl.tile.create([16, 16], pl.FP32)))", True),
        ("s = pl.tile.col_expand_sub(t, pl.tile.col_max(t))", False),
        ("s = pl.tile.muls(t, pl.cast(lane, pl.FP32))", False),
        ("u = pl.tile.set_validshape(t, 16 - lane, 16)\n        s = pl.tile.adds(u, 1.0)", False),
        ("c = pl.tile.read(t, [0, 0])\n        s = pl.tile.adds(t, c)", False),
    ],
)
def test_only_programs_that_do_the_same_on_both_lanes_run_side_by_side(body, together):
    module, function = lanes(body)
    assert runs_side_by_side(function) == together
    x = np.random.default_rng(1).standard_normal((32, 16)).astype(np.float32)
    inputs = {"x": x, "y": np.zeros_like(x)}
    default, seeded = run_group(module, inputs), run_group(module, inputs, schedule=Schedule(1))
    assert default.ok
    np.testing.assert_array_equal(default.outputs["y"], seeded.outputs["y"])


def test_what_goes_wrong_side_by_side_is_told_lane_by_lane():
    plain = LANES.replace("BODY", "s = pl.tile.add(t, t)")
    inputs = {"x": np.arange(512, dtype=np.float32).reshape(32, 16), "y": np.zeros((32, 16), np.float32)}

    def findings(offset: str):
        text = plain.replace("[lane * 16, 0], y", f"[{offset}, 0], y")
        return run_group(language.parse(text, filename="k.py"), inputs).findings

    assert not findings("lane * 16")
    [race] = findings("0")
    assert race.code == "race" and "AIV0 writes at" in str(race) and "AIV1 writes at" in str(race)
    [outside] = findings("lane * 32")
    assert outside.code == "out-of-bounds" and str(outside).count("AIV1") == 1
