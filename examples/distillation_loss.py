"""Distillation loss: KL divergence of the student's softmax from the teacher's, one number per row.

h_student and h_teacher [32, 64] BF16, w_student and w_teacher [64, 64] BF16, loss [32, 1] FP32:
loss = sum over the classes of p_teacher * (log p_teacher - log p_student), both at TEMPERATURE.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, CLASSES = 32, 64, 64
TEMPERATURE = 2.0
RTOL, ATOL = 1e-3, 1e-5


@pl.program
class DistillationLoss:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        h_student: pl.Tensor[[M, K], pl.BF16],
        h_teacher: pl.Tensor[[M, K], pl.BF16],
        w_student: pl.Tensor[[K, CLASSES], pl.BF16],
        w_teacher: pl.Tensor[[K, CLASSES], pl.BF16],
        loss: pl.Out[pl.Tensor[[M, 1], pl.FP32]],
    ) -> pl.Tensor[[M, 1], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            student = pl.mul(pl.matmul(h_student, w_student, out_dtype=pl.FP32), 1.0 / TEMPERATURE)
            teacher = pl.mul(pl.matmul(h_teacher, w_teacher, out_dtype=pl.FP32), 1.0 / TEMPERATURE)
            student = pl.row_expand_sub(student, pl.row_max(student))
            teacher = pl.row_expand_sub(teacher, pl.row_max(teacher))
            student_sum = pl.row_sum(pl.exp(student))
            teacher_exp = pl.exp(teacher)
            teacher_sum = pl.row_sum(teacher_exp)
            gap = pl.row_sum(pl.mul(teacher_exp, pl.sub(teacher, student)))
            norm_gap = pl.sub(pl.log(student_sum), pl.log(teacher_sum))
            loss = pl.assemble(loss, pl.add(pl.div(gap, teacher_sum), norm_gap), [0, 0])
        return loss


def inputs():
    rng = np.random.default_rng(39)

    def bf16(*shape, scale=1.0):
        return (rng.standard_normal(shape) * scale).astype(ml_dtypes.bfloat16)

    return {
        "h_student": bf16(M, K),
        "h_teacher": bf16(M, K),
        "w_student": bf16(K, CLASSES, scale=1 / 4),
        "w_teacher": bf16(K, CLASSES, scale=1 / 4),
        "loss": np.full((M, 1), -77, np.float32),
    }


def golden(inputs):
    def log_softmax(h, w):
        logits = h.astype(np.float32) @ w.astype(np.float32) / np.float32(TEMPERATURE)
        return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)

    student = log_softmax(inputs["h_student"], inputs["w_student"])
    teacher = log_softmax(inputs["h_teacher"], inputs["w_teacher"])
    return {"loss": np.sum(np.exp(teacher) * (teacher - student), axis=1, keepdims=True)}
