"""Every word that a `Meaning` uses exists in both executors, and both understand it alike."""

import re

import ml_dtypes
import numpy as np
import pytest

from cubelane.check.reference_ops import Evaluator
from cubelane.check.reference_values import Undefined
from cubelane.check.reference_words import WORDS
from cubelane.ir.context import DIALECTS
from cubelane.ir.surface import SurfaceOp
from cubelane.ir.traits import Meaning, Split, Splits
from cubelane.sim.core import Core
from cubelane.sim.group import Group, Schedule
from cubelane.sim.memory import Memory
from cubelane.sim.primitives import PURE, Poison

OPS = [op for dialect in DIALECTS for op in dialect.operations if issubclass(op, SurfaceOp)]
CALL = re.compile(r"(?<![\w.{])([a-z_]\w*)\(")


def called_words(op) -> set[str]:
    meaning = op.traits.get_trait(Meaning) if hasattr(op.traits, "get_trait") else None
    meaning = meaning or next(t for t in op.traits.traits if isinstance(t, Meaning))
    return set(CALL.findall(f"{meaning.value} {meaning.valid or ''}"))


def behaviour(op) -> Split:
    return next(t for t in op.traits.traits if isinstance(t, Splits)).behaviour


def machine_words() -> set[str]:
    return set(PURE) | set(Core(Group([], Memory(), Poison(), Schedule()), 0, "AIC", None).words())


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_the_machine_knows_every_word(op):
    if behaviour(op) is Split.BOUNDARY:
        return
    assert called_words(op) <= machine_words()


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_the_oracle_knows_every_word(op):
    if behaviour(op) in (Split.CHANNEL, Split.BOUNDARY):
        return
    oracle = set(WORDS) | set(Evaluator(Undefined()).words(None))
    assert called_words(op) <= oracle


FLOATS = np.array([[-2.5, -1.5, -0.5, 0.0], [0.5, 1.5, 2.5, 3.49], [1e9, -1e9, 127.5, -128.5]], np.float32)


@pytest.mark.parametrize("mode", ["none", "rint", "round", "floor", "ceil", "trunc", "odd"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, ml_dtypes.int4])
def test_casts_to_integers_agree(mode, dtype):
    ours = PURE["cast"](FLOATS, dtype, mode)
    theirs = WORDS["cast"](FLOATS.astype(np.float64), dtype, mode)
    np.testing.assert_array_equal(ours.astype(np.int64), theirs.astype(np.int64))


def test_casts_round_as_the_mode_says():
    row = FLOATS[:2]
    assert PURE["cast"](row, np.int32, "round").tolist() == [[-3, -2, -1, 0], [1, 2, 3, 3]]
    assert PURE["cast"](row, np.int32, "rint").tolist() == [[-2, -2, 0, 0], [0, 2, 2, 3]]
    assert PURE["cast"](row, np.int32, "odd").tolist() == [[-3, -1, -1, 0], [1, 1, 3, 3]]
    assert PURE["cast"](FLOATS, np.int8, "trunc")[2].tolist() == [127, -128, 127, -128]


def test_division_of_integers_goes_towards_zero():
    a, b = np.array([7, -7, 7, -7, 5], np.int32), np.array([2, 2, -2, -2, 0], np.int32)
    assert PURE["divide"](a, b).tolist() == [3, -3, -3, 3, 0]
    assert WORDS["divide"](a, b).tolist() == [3, -3, -3, 3, 0]


def test_masks_pack_and_unpack_alike():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, (3, 21)).astype(bool)
    ours, theirs = PURE["pack_bits"](truth, (3, 32)), WORDS["pack_bits"](truth, (3, 32))
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(PURE["unpack_bits"](ours, (3, 21)), truth)
    np.testing.assert_array_equal(WORDS["unpack_bits"](ours, (3, 21)), truth)


@pytest.mark.parametrize("word", ["sequence", "triangle", "random"])
def test_generators_agree(word):
    arguments = {
        "sequence": ((1, 16), 5, True, np.int32),
        "triangle": ((5, 9), 2, 1, np.float32),
        "random": ((3, 7), (0xDEADBEEF, 7), (0xFFFFFFFF, 1, 2, 3), np.uint32),
    }[word]
    np.testing.assert_array_equal(PURE[word](*arguments), WORDS[word](*arguments))


def test_philox_known_answer():
    got = PURE["random"]((1, 4), (0, 0), (0, 0, 0, 0), np.uint32)[0].tolist()
    assert got == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_padding_agrees():
    tile = np.arange(12, dtype=np.float32).reshape(3, 4)
    for pad in ("zero", "max", "min"):
        ours = PURE["fill_pad"](tile, (2, 3), pad)
        np.testing.assert_array_equal(ours, WORDS["fill_pad"](tile, (2, 3), pad, np.float32))


def test_matrix_products_cut_to_the_valid_columns_of_the_left():
    a, b = np.ones((4, 3), np.float16), np.ones((5, 2), np.float16)
    np.testing.assert_array_equal(PURE["matmul"](a, b), np.full((4, 2), 3.0))
    np.testing.assert_array_equal(WORDS["matmul"](a, b), np.full((4, 2), 3.0))


@pytest.mark.parametrize("words", [PURE, WORDS], ids=["machine", "oracle"])
def test_an_empty_column_turned_into_a_row_stays_empty(words):
    column = np.zeros((8, 1), np.float32)
    assert words["reshaped_valid"]((0, 1), column, (1, 8))[1] == 0
    assert words["reshaped_valid"]((5, 0), column, (1, 8)) == (0, 5)
    assert words["reshaped_valid"]((1, 0), column.T, (8, 1)) == (0, 1)
    assert words["reshaped_valid"]((5, 1), column, (1, 8)) == (1, 5)
