# 1.3 a type implies its level
# advice: ', level=pl.Level.AIV' -> ''
import pypto.language as pl


@pl.program
class K:
    @pl.function(type=pl.FunctionType.AIC, level=pl.Level.AIV)
    def k(self, x: pl.Tensor[[32, 64], pl.FP32]):
        return x
