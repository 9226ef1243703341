# 2.7 operations of the reference
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
        s = pl.tile.gatherb(t, t)
        out = pl.store(t, [0, 0], out)
        return out
