# 1.3 split is a mode
# advice: '"split": 1' -> '"split": pl.SplitMode.UP_DOWN'
import pypto.language as pl


@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[32, 64], pl.FP32]):
        pl.func_attr({"split": 1})
        return x
