# 1.4 a view with fields has a layout
# advice: 'stride=[64, 1]' -> 'layout=pl.TensorLayout.ND, stride=[64, 1]'
import pypto.language as pl


@pl.program
class K:
    @pl.function
    def k(self, x: pl.Tensor[[32, 64], pl.FP32, pl.TensorView(stride=[64, 1])]):
        return x
