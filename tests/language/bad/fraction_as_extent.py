# 1.4 an extent is a whole number
# advice: '[[32.5, 64]' -> '[[32, 64]'
import pypto.language as pl


@pl.program
class K:
    @pl.function
    def k(self, x: pl.Tensor[[32.5, 64], pl.FP32]):
        return x
