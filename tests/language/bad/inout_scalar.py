# 1.3 a scalar is not InOut
# advice: 'pl.InOut[pl.Scalar[pl.INDEX]]' -> 'pl.Scalar[pl.INDEX]'
import pypto.language as pl


@pl.program
class K:
    @pl.function
    def k(self, x: pl.Tensor[[32, 64], pl.FP32], n: pl.InOut[pl.Scalar[pl.INDEX]]):
        return x
