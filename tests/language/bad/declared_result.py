# 1.3 what is declared is returned
# advice: '-> pl.Tensor[[64, 32]' -> '-> pl.Tensor[[32, 64]'
import pypto.language as pl


@pl.program
class K:
    @pl.function
    def k(self, x: pl.Tensor[[32, 64], pl.FP32]) -> pl.Tensor[[64, 32], pl.FP32]:
        return x
