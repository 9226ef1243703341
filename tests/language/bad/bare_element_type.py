# 1.4 a bare element type is no annotation
# advice: 'n: pl.INT64' -> 'n: pl.Scalar[pl.INT64]'
import pypto.language as pl


@pl.program
class K:
    @pl.function
    def k(self, x: pl.Tensor[[32, 64], pl.FP32], n: pl.INT64):
        return x
