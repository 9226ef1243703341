# 2.2 a move says where to
# advice: 'pl.move(t)' -> 'pl.move(t, target_memory=pl.Mem.Vec)'
import pypto.language as pl


@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self,
        x: pl.Tensor[[32, 64], pl.FP32],
        q: pl.Tensor[[32, 64], pl.INT32],
        n: pl.Scalar[pl.INDEX],
        b: pl.Scalar[pl.BOOL],
        out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
    ):
        t = pl.load(x, [0, 0], [16, 32])
        s = pl.move(t)
        out = pl.store(t, [0, 0], out)
        return out
