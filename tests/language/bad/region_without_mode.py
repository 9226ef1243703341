# 1.6 a region has a mode
# advice: 'split_aiv(2)' -> 'split_aiv(2, mode=pl.SplitMode.UP_DOWN)'
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
        for lane in pl.split_aiv(2):
            out[:] = pl.exp(x)
        return out
