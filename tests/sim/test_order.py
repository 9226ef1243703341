"""Order through global memory: a push before a pop, a free before the push that takes the slot again."""

import numpy as np
import pytest

from cubelane import language
from cubelane.check.execute import Schedule, run_group

TEXT = """
import cubelane.language as pl

@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.AIC)
    def k_aic(self, x: pl.Tensor[[16, 16], pl.FP16], t: pl.InOut[pl.Tensor[[16, 16], pl.FP32]],
              y: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
        pipe = pl.system.import_peer_buffer(name="ring", peer_func="k_aiv")
        pl.system.aic_initialize_pipe(pipe, pl.const(0, pl.INT32), dir_mask=1, slot_size=1024, slot_num=2)
        a = pl.tile.load(x, [0, 0], [16, 16], target_memory=pl.Mem.Mat)
        l = pl.tile.move(a, target_memory=pl.Mem.Left)
        b = pl.tile.load(x, [0, 0], [16, 16], target_memory=pl.Mem.Mat)
        r = pl.tile.move(b, target_memory=pl.Mem.Right)
        z = pl.tile.matmul(l, r)
        t1 = pl.tile.store(z, [0, 0], t)
        pl.tile.tpush_to_aiv(z, split=0)

    @pl.function(type=pl.FunctionType.AIV)
    def k_aiv(self, x: pl.Tensor[[16, 16], pl.FP16], t: pl.InOut[pl.Tensor[[16, 16], pl.FP32]],
              y: pl.Out[pl.Tensor[[16, 16], pl.FP32]]) -> pl.Tensor[[16, 16], pl.FP32]:
        ring = pl.system.reserve_buffer(name="ring", size=2048, base=-1)
        pl.system.aiv_initialize_pipe(ring, pl.const(0, pl.INT32), dir_mask=1, slot_size=1024, slot_num=2)
        BEFORE
        v: pl.Tile[[16, 16], pl.FP32, pl.Mem.Vec] = pl.tile.tpop_from_aic(split=0)
        AFTER
        s = pl.tile.add(v, w)
        pl.system.tfree_to_aic(v)
        out = pl.tile.store(s, [0, 0], y)
        return out
"""
LOAD = "w = pl.tile.load(t, [0, 0], [16, 16], target_memory=pl.Mem.Vec)"


def run(before: str, after: str, seed: int | None = None):
    text = TEXT.replace("BEFORE", before).replace("AFTER", after).replace("        \n", "")
    inputs = {
        "x": np.eye(16, dtype=np.float16),
        "t": np.zeros((16, 16), np.float32),
        "y": np.full((16, 16), -77, np.float32),
    }
    return run_group(language.parse(text, filename="k.py"), inputs, schedule=Schedule(seed))


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_a_load_behind_the_pop_sees_the_store_before_the_push(seed):
    result = run("", LOAD, seed)
    assert result.ok and (result.outputs["y"] == 2 * np.eye(16)).all()


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_a_load_before_the_pop_races_whatever_the_schedule(seed):
    result = run(LOAD, "", seed)
    assert result.kinds() == ["race"]
    report = str(result.findings[0])
    assert "k.py:16:" in report and "k.py:24:" in report


def test_a_tile_is_undefined_after_its_free():
    text = TEXT.replace("BEFORE", "").replace("AFTER", LOAD)
    late = text.replace(
        "        s = pl.tile.add(v, w)\n        pl.system.tfree_to_aic(v)\n", "        FREE\n        ADD\n"
    )
    late = late.replace("FREE", "pl.system.tfree_to_aic(v)").replace("ADD", "s = pl.tile.add(v, w)")
    inputs = {
        "x": np.eye(16, dtype=np.float16),
        "t": np.zeros((16, 16), np.float32),
        "y": np.full((16, 16), -77, np.float32),
    }
    result = run_group(language.parse(late, filename="k.py"), inputs)
    assert result.kinds() == ["poison"]
