# 1.4 arrays on the core
import pypto.language as pl


@pl.program
class K:
    @pl.function
    def k(self, x: pl.Tensor[[32, 64], pl.FP32], a: pl.Array[16, pl.INT32]):
        return x
