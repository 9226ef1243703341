# 1.3 every parameter is annotated
# advice: 'self, x)' -> 'self, x: pl.Tensor[[32, 64], pl.FP32])'
import pypto.language as pl


@pl.program
class K:
    @pl.function
    def k(self, x):
        return x
