# 2.6 a boundary takes the mode of its region
# advice: ', split=1' -> ''
import pypto.language as pl


@pl.program
class K:
    @pl.function
    def k(
        self,
        x: pl.Tensor[[32, 64], pl.FP32],
        w: pl.Tensor[[64, 64], pl.FP32],
        n: pl.Scalar[pl.INDEX],
        out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            c = pl.matmul(x, w, out_dtype=pl.FP32)
            for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
                h = pl.aiv_shard(c, split=1)
                out = pl.assemble(out, pl.exp(h), [16 * lane, 0])
        return out
