"""Convolution as a matmul over gathered patches, with folded batch norm and ReLU6.

patches [64, 144] FP16 (8 x 8 pixels, 3 x 3 window times 16 channels), kernel [144, 64] FP16,
gain and shift [1, 64] FP32, out [64, 64] FP16: out = clip(patches @ kernel * gain + shift, 0, 6).
"""

import numpy as np

import cubelane.language as pl

SIDE, WINDOW, CHANNELS = 8, 3, 16
PIXELS, PATCH, FILTERS = SIDE * SIDE, WINDOW * WINDOW * CHANNELS, 64
RTOL, ATOL = 2e-3, 1e-3


@pl.program
class ConvIm2col:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        patches: pl.Tensor[[PIXELS, PATCH], pl.FP16],
        kernel: pl.Tensor[[PATCH, FILTERS], pl.FP16],
        gain: pl.Tensor[[1, FILTERS], pl.FP32],
        shift: pl.Tensor[[1, FILTERS], pl.FP32],
        out: pl.Out[pl.Tensor[[PIXELS, FILTERS], pl.FP16]],
    ) -> pl.Tensor[[PIXELS, FILTERS], pl.FP16]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            conv = pl.matmul(patches, kernel, out_dtype=pl.FP32)
            normed = pl.add(pl.col_expand_mul(conv, gain), shift)
            relu6 = pl.minimum(pl.maximum(normed, 0.0), 6.0)
            out = pl.assemble(out, pl.cast(relu6, target_type=pl.FP16), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(20)
    image = np.pad(rng.standard_normal((SIDE, SIDE, CHANNELS)), ((1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(image, (WINDOW, WINDOW), axis=(0, 1))
    return {
        # window offsets first, channels last, as the kernel's rows are ordered
        "patches": windows.transpose(0, 1, 3, 4, 2).reshape(PIXELS, PATCH).astype(np.float16),
        "kernel": (rng.standard_normal((PATCH, FILTERS)) / 4).astype(np.float16),
        "gain": np.linspace(0.5, 1.5, FILTERS, dtype=np.float32)[None, :],
        "shift": np.linspace(-1.0, 3.0, FILTERS, dtype=np.float32)[None, :],
        "out": np.full((PIXELS, FILTERS), -77, np.float16),
    }


def golden(inputs):
    conv = inputs["patches"].astype(np.float32) @ inputs["kernel"].astype(np.float32)
    return {"out": np.clip(conv * inputs["gain"] + inputs["shift"], 0, 6).astype(np.float16)}
