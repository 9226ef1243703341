"""Skewed pipelines: the trips of two cores overlap, the numbers and the channel stay right (cases H01, H03, H05)."""

import numpy as np
import pytest

from cubelane import language
from cubelane.analysis.channel_protocol import core_groups
from cubelane.analysis.pipeline_stages import Declined, Skew, skews
from cubelane.check.compiled import compile_program
from cubelane.check.protocol import Proof, check_protocol
from cubelane.check.timing import timed
from cubelane.passes import pipeline

ATTENTION = """
import cubelane.language as pl
@pl.program
class Attention:
    @pl.function
    def main(self, q: pl.Tensor[[32, 32], pl.BF16], k: pl.Tensor[[512, 32], pl.BF16], v: pl.Tensor[[512, 32], pl.BF16],
             n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[32, 32], pl.FP32]]) -> pl.Tensor[[32, 32], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN),
                                                             pl.cross_core_slot(slot_num={slots})]):
            top = pl.full([32, 1], dtype=pl.FP32, value=-1e30)
            total = pl.full([32, 1], dtype=pl.FP32, value=1.0)
            acc = pl.full([32, 32], dtype=pl.FP32, value=0.0)
            for i in pl.{loop}:
                kb = pl.slice(k, [32, 32], [i * 32, 0])
                vb = pl.slice(v, [32, 32], [i * 32, 0])
                s = pl.mul(pl.matmul(q, kb, b_trans=True, out_dtype=pl.FP32), 0.25)
                top_next = pl.maximum(top, pl.row_max(s))
                p = pl.exp(pl.row_expand_sub(s, top_next))
                fade = pl.exp(pl.sub(top, top_next))
                total = pl.add(pl.mul(total, fade), pl.row_sum(p))
                pv = pl.matmul(pl.cast(p, target_type=pl.BF16), vb, out_dtype=pl.FP32)
                acc = pl.add(pl.row_expand_mul(acc, fade), pv)
                top = top_next
            out = pl.assemble(out, pl.row_expand_div(acc, total), [0, 0])
        return out
"""

ROUND_TRIP = """
import cubelane.language as pl
@pl.program
class RoundTrip:
    @pl.function
    def main(self, x: pl.Tensor[[{rows}, 32], pl.FP32], w: pl.Tensor[[32, 32], pl.BF16],
             out: pl.InOut[pl.Tensor[[{rows}, 32], pl.FP32]]) -> pl.Tensor[[{rows}, 32], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
{before}
            for i in pl.pipeline({trips}, stage=2):
{body}
        return out
"""


def source(text):
    return language.parse(text, "kernel.py")


def judged(text, target="a2a3"):
    """The compiled kernel, once it ran equal to the oracle and its channel holds on every path."""
    compiled = compile_program(source(text), target)
    verdict = compiled.judge()
    assert verdict.word == "equal", [str(f) for f in verdict.findings]
    for channel in check_protocol(compiled.module):
        assert not channel.findings and channel.proof is not Proof.NOT_PROVEN, channel
    return compiled


def found(text):
    """What the analysis says of the loops of a kernel."""
    program = compile_program(source(text)).source.clone()
    module = pipeline.run(program, until="stamp-tfree-split")
    return [outcome for group in core_groups(module) for outcome in skews(group)]


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("slots", [1, 2, 3])
def test_every_trip_count_and_depth(trips, slots):
    """H01: loops of 0, 1, depth - 1, depth and depth + 1 trips."""
    for target in ("a2a3", "a5"):
        judged(ATTENTION.format(loop=f"pipeline({trips}, stage=2)", slots=slots), target)


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 9])
@pytest.mark.parametrize("stage", [3, 4])
def test_every_trip_count_and_stage(trips, stage):
    """H01 in the skewed form: fewer trips than stages, as many, and many; with the slots for it and with fewer."""
    for slots, target in ((stage, "a2a3"), (2, "a5")):
        judged(ATTENTION.format(loop=f"pipeline({trips}, stage={stage})", slots=slots), target)


@pytest.mark.parametrize("stage", [2, 3, 4])
@pytest.mark.parametrize("bounds", ["n", "1, n", "2, n, 3", "0, n, 2"])
def test_trip_counts_of_the_run(bounds, stage):
    text = ATTENTION.format(loop=f"pipeline({bounds}, stage={stage})", slots=stage)
    compiled = compile_program(source(text))
    plain = compile_program(source(text.replace(f"pl.pipeline({bounds}, stage={stage})", f"pl.range({bounds})")))
    (skew,) = found(text)
    assert isinstance(skew, Skew) and skew.trips is None
    assert not any(channel.findings for channel in check_protocol(compiled.module))
    rng = np.random.default_rng(3)
    arrays = {name: rng.standard_normal(shape) for name, shape in (("q", (32, 32)), ("k", (512, 32)), ("v", (512, 32)))}
    given = {name: language_array(value) for name, value in arrays.items()}
    for n in range(8):
        outputs = [
            kernel.run({**given, "n": n, "out": np.full((32, 32), -77, np.float32)}) for kernel in (compiled, plain)
        ]
        assert not outputs[0].findings, outputs[0].findings[0]
        assert np.array_equal(outputs[0].outputs["out"], outputs[1].outputs["out"])


def language_array(values):
    import ml_dtypes

    return values.astype(ml_dtypes.bfloat16)


def test_cube_works_on_the_next_trip_while_the_lanes_answer():
    """H05: the time comes near that of the busier core alone, not of both one after the other."""
    text = ATTENTION.format(loop="pipeline(16, stage=2)", slots=2)
    skewed, plain = (
        timed(compile_program(source(kernel))).timeline()
        for kernel in (text, text.replace("pipeline(16, stage=2)", "range(16)"))
    )
    assert skewed is not None and plain is not None
    assert skewed.cycles < 0.65 * plain.cycles
    assert skewed.cycles < 1.25 * max(times.busy for times in skewed.times())


def test_inside_a_while_and_an_outer_loop():
    """H03: the loops around do not matter."""
    text = ATTENTION.format(loop="pipeline(4, stage=2)", slots=2)
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if "for i in" in line)
    end = next(i for i, line in enumerate(lines) if "pl.assemble" in line)
    nested = [
        *lines[:start],
        "            for j in pl.range(n + 3):",
        *("    " + x for x in lines[start:end]),
        *lines[end:],
    ]
    (skew,) = found("\n".join(nested))
    assert isinstance(skew, Skew)
    judged("\n".join(nested))


def body(*lines):
    return "\n".join(" " * 16 + line for line in lines)


def test_lanes_that_start_the_round_trip():
    text = ROUND_TRIP.format(
        rows=160,
        trips=5,
        before="",
        body=body(
            "xb = pl.cast(pl.mul(pl.slice(x, [32, 32], [i * 32, 0]), 0.5), target_type=pl.BF16)",
            "y = pl.matmul(xb, w, out_dtype=pl.FP32)",
            "out = pl.assemble(out, pl.maximum(y, 0.0), [i * 32, 0])",
        ),
    )
    (skew,) = found(text)
    assert isinstance(skew, Skew) and [staged.lag for staged in skew.loops] == [0, 1]
    judged(text)


def test_next_trip_that_needs_the_answer_stays():
    """A recurrence through both cores cannot overlap."""
    text = ROUND_TRIP.format(
        rows=32,
        trips=4,
        before=" " * 12 + "h = pl.slice(x, [32, 32], [0, 0])",
        body=body(
            "y = pl.matmul(pl.cast(h, target_type=pl.BF16), w, out_dtype=pl.FP32)",
            "h = pl.mul(y, 0.125)",
        ),
    )
    text = text.replace("        return out", "            out = pl.assemble(out, h, [0, 0])\n        return out")
    (outcome,) = found(text)
    assert isinstance(outcome, Declined) and "answer of the other core" in outcome.reason
    assert outcome.place.line > 0
    judged(text)


def test_memory_that_is_read_after_it_is_written_stays():
    text = ROUND_TRIP.format(
        rows=160,
        trips=4,
        before="",
        body=body(
            "xb = pl.cast(pl.slice(out, [32, 32], [i * 32, 0]), target_type=pl.BF16)",
            "y = pl.matmul(xb, w, out_dtype=pl.FP32)",
            "out = pl.assemble(out, y, [i * 32 + 32, 0])",
        ),
    )
    (outcome,) = found(text)
    assert isinstance(outcome, Declined) and "a tensor it stores to" in outcome.reason
    judged(text)


CHAIN = [
    "xb = pl.cast(pl.slice(x, [32, 32], [i * 32, 0]), target_type=pl.BF16)",
    "a = pl.mul(pl.matmul(xb, w, out_dtype=pl.FP32), 0.5)",
    "b = pl.mul(pl.matmul(pl.cast(a, target_type=pl.BF16), w, out_dtype=pl.FP32), 0.5)",
    "c = pl.mul(pl.matmul(pl.cast(b, target_type=pl.BF16), w, out_dtype=pl.FP32), 0.5)",
    "out = pl.assemble(out, {result}, [i * 32, 0])",
]


def chain(trips, stages, slots, result="c"):
    text = ROUND_TRIP.format(rows=320, trips=trips, before="", body=body(*CHAIN).format(result=result))
    text = text.replace("stage=2", f"stage={stages}")
    return text.replace("UP_DOWN)]", f"UP_DOWN), pl.cross_core_slot(slot_num={slots})]")


def lags(text):
    return [tuple(staged.lag for staged in o.loops) if isinstance(o, Skew) else o.reason for o in found(text)]


def test_several_answers_a_trip_lag_behind_one_after_the_other():
    assert lags(chain(8, 4, 3)) == [(2, 3)]
    for trips in range(6):
        # fewer trips than stages: nothing to overlap
        assert (lags(chain(trips, 4, 3)) == [(2, 3)]) is (trips > 3)
        judged(chain(trips, 4, 3))


def test_rings_too_shallow_for_the_lag_stay():
    """Three answers on their way need more than one slot."""
    assert lags(chain(8, 4, 1)) == ["its rings are too shallow: both cores would wait for a free slot"]
    judged(chain(8, 4, 1))
    judged(chain(8, 4, 2))


def test_slot_that_would_be_held_for_another_trip_stays():
    lines = [
        "a = pl.matmul(pl.cast(pl.slice(x, [32, 32], [i * 32, 0]), target_type=pl.BF16), w, out_dtype=pl.FP32)",
        "b = pl.matmul(pl.cast(pl.mul(a, 0.5), target_type=pl.BF16), w, out_dtype=pl.FP32)",
        "out = pl.assemble(out, pl.add(b, a), [i * 32, 0])",
    ]
    text = ROUND_TRIP.format(rows=192, trips=6, before="", body=body(*lines))
    assert "another order" in lags(text)[0]
    assert "`a__tile_Vec` would have to stay in its slot" in lags(text.replace("stage=2", "stage=3"))[0]
    judged(text)


def test_text_after_the_pass_is_the_program():
    text = ATTENTION.format(loop="pipeline(6, stage=2)", slots=2)
    compiled = compile_program(source(text))
    printed = language.print_program(compiled.module)
    again = language.parse(printed, "printed.py")
    assert language.print_program(again) == printed
