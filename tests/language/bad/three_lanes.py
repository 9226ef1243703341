# 1.6 there are two lanes
# advice: 'split_aiv(3' -> 'split_aiv(2'
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
        for lane in pl.split_aiv(3, mode=pl.SplitMode.UP_DOWN):
            out[:] = pl.exp(x)
        return out
