# RUN: not cubelane emit %s --as pto 2>&1 | filecheck %s
# RUN: not cubelane compile %s -o %t 2>&1 | filecheck %s
# RUN: not ls %t
# An op without a form in PTO IR is refused at its line, and nothing is written.

import pypto.language as pl


@pl.program
class Noise:
    @pl.function(type=pl.FunctionType.InCore)
    def noise(self, out: pl.Out[pl.Tensor[[8, 64], pl.INT32]]) -> pl.Tensor[[8, 64], pl.INT32]:
        r = pl.tile.random(1, 2, 3, 4, 5, 6, [8, 64], dtype=pl.INT32)
        out = pl.store(r, [0, 0], out)
        return out


# CHECK: no_form.py:13:13: error: `random` has no form in PTO IR
