"""Cube micro-ops: the mad family in its semantic and raw forms (spec/pto.md 4.4, 4.9, 8.3)."""

from cubelane.ir.pto.decl import Clause, Effect, OpDecl, Role, declare
from cubelane.ir.pto.rules import matrix_elements, matrix_spaces, scaled_elements
from cubelane.ir.pto.spaces import Pipe
from cubelane.ir.traits import OnCube

MAD_CLAUSES = (
    Clause("unit_flag", words=("check_only", "check_and_set")),
    Clause("disable_gemv"),
    Clause("sat"),
    Clause("nosat"),
    Clause("tf32_mode", words=("round_even", "round_away")),
    Clause("n_dir"),
)


def _mad(name: str, raw: str, extra: str = "", tags: str = "") -> OpDecl:
    return declare(
        name,
        f"lhs:ptr rhs:ptr dst:ptr {extra} m:i64 n:i64 k:i64",
        affinity=OnCube,
        role=Role.CARRIER,
        effect=Effect.WRITE,
        pipe=Pipe.M,
        clauses=MAD_CLAUSES,
        rules=(matrix_spaces, matrix_elements, *((scaled_elements,) if "scaled" in tags.split() else ())),
        tags=f"mad {tags}",
        raw=raw,
    )


def _raw(name: str, extra: str = "") -> OpDecl:
    return declare(
        name,
        f"lhs:ptr rhs:ptr dst:ptr {extra} xt:i64",
        affinity=OnCube,
        role=Role.CARRIER,
        effect=Effect.WRITE,
        pipe=Pipe.M,
        rules=(matrix_spaces,),
    )


BIAS = "bias:ptr"

OPS: tuple[OpDecl, ...] = (
    _mad("mad", "mad_raw", tags="zero_init"),
    _mad("mad_acc", "mad_raw"),
    _mad("mad_bias", "mad_bias_raw", BIAS, tags="has_bias"),
    _mad("mad_mx", "mad_mx_raw", tags="zero_init scaled"),
    _mad("mad_mx_acc", "mad_mx_raw", tags="scaled"),
    _mad("mad_mx_bias", "mad_mx_bias_raw", BIAS, tags="has_bias scaled"),
    _raw("mad_raw"),
    _raw("mad_bias_raw", BIAS),
    _raw("mad_mx_raw"),
    _raw("mad_mx_bias_raw", BIAS),
)
