# 1.6 optimizations is a list
# advice: 'optimizations=pl.split(pl.SplitMode.UP_DOWN)' -> 'optimizations=[pl.split(pl.SplitMode.UP_DOWN)]'
import pypto.language as pl


@pl.program
class K:
    @pl.function
    def k(
        self,
        x: pl.Tensor[[32, 64], pl.FP32],
        w: pl.Tensor[[64, 64], pl.FP32],
        n: pl.Scalar[pl.INDEX],
        out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=pl.split(pl.SplitMode.UP_DOWN)):
            out[:] = pl.exp(x)
        return out
