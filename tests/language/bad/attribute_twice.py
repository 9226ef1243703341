# 1.3 a key is declared once
import pypto.language as pl


@pl.program
class K:
    @pl.function
    def k(self, x: pl.Tensor[[32, 64], pl.FP32]):
        pl.func_attr({"slot_num": 2, "slot_num": 4})
        return x
