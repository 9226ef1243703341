# 1.6 levels
# advice: 'pl.Level.CHIP' -> 'pl.Level.CORE_GROUP'
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
        with pl.at(level=pl.Level.CHIP):
            out[:] = pl.exp(x)
        return out
