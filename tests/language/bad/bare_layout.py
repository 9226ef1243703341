# 1.4 a layout belongs into a view
# advice: 'pl.TensorLayout.ND]' -> 'pl.TensorView(layout=pl.TensorLayout.ND)]'
import pypto.language as pl


@pl.program
class K:
    @pl.function
    def k(self, x: pl.Tensor[[32, 64], pl.FP32, pl.TensorLayout.ND]):
        return x
