# ruff: noqa: E501  (PTO text has long lines)
"""PTO text for tests: a kernel around named statements. `V` is vector work, `C` cube work, and so on."""

PROLOGUE = """\
    %zero = arith.constant 0 : i64
    %i0 = arith.constant 0 : index
    %n = arith.constant 16 : i64
    %len = arith.constant 64 : i64
    %no = arith.constant 0 : i1
    %u = pto.castptr %zero : i64 -> !pto.ptr<f32, ub>
    %l1 = pto.castptr %zero : i64 -> !pto.ptr<f16, l1>
    %a = pto.castptr %zero : i64 -> !pto.ptr<f16, l0a>
    %b = pto.castptr %zero : i64 -> !pto.ptr<f16, l0b>
    %c = pto.castptr %zero : i64 -> !pto.ptr<f32, l0c>
"""
V = """\
    pto.vecscope {
      %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
      %v = pto.vlds %u[%i0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      pto.vsts %v, %u[%i0], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
    }
"""
C = """\
    pto.mad %a, %b, %c, %n, %n, %n : !pto.ptr<f16, l0a>, !pto.ptr<f16, l0b>, !pto.ptr<f32, l0c>, i64, i64, i64
"""
IN_UB = """\
    pto.mte_gm_ub %g, %u, %zero, %len nburst(%n, %len, %len) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
"""
OUT_UB = """\
    pto.mte_ub_gm %u, %g, %len nburst(%n, %len, %len) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
"""
IN_L1 = """\
    pto.mte_gm_l1_frac %x, %l1, nd2nz, shape(%n, %n), src_layout(%len), dst_group(%n, %n, %n, %zero), ctrl(%zero, %no) : !pto.ptr<f16, gm>, !pto.ptr<f16, l1>, nd2nz, shape i64, i64, src_layout(i64), dst_group i64, i64, i64, i64, ctrl i64, i1
"""
TO_L0 = """\
    pto.mte_l1_l0a %l1, %a, %n, %n, %zero, %zero : !pto.ptr<f16, l1>, !pto.ptr<f16, l0a>, i64, i64, i64, i64
    pto.mte_l1_l0b %l1, %b, %n, %n, %zero, %zero : !pto.ptr<f16, l1>, !pto.ptr<f16, l0b>, i64, i64, i64, i64
"""
C_TO_UB = """\
    pto.mte_l0c_ub %c, %u, %n, %n, %n, %n, dst_mode(split_m), nz2nd : !pto.ptr<f32, l0c>, !pto.ptr<f32, ub>, i64, i64, i64, i64
"""
C_TO_GM = """\
    pto.mte_l0c_gm %c, %g, %n, %n, %n, %n, %zero, %zero, nz2nd : !pto.ptr<f32, l0c>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64
"""
STORE = "    pto.store_scalar %n, %p[%i0] : !pto.ptr<i64, gm>, i64\n"
LOAD = "    %s = pto.load_scalar %p[%i0] : !pto.ptr<i64, gm> -> i64\n"
BARRIER = "    pto.barrier #pto.pipe<PIPE_ALL>\n"
ARGUMENTS = "%g: !pto.ptr<f32, gm>, %x: !pto.ptr<f16, gm>, %p: !pto.ptr<i64, gm>"


def flag(verb: str, source: str, target: str, event: int = 0) -> str:
    """`set_flag` or `wait_flag`."""
    return f"    pto.{verb}_flag[<PIPE_{source}>, <PIPE_{target}>, <EVENT_ID{event}>]\n"


def signal(verb: str, pipe: str, number: int = 0) -> str:
    """`sync.set` or `sync.wait`."""
    return f"    pto.sync.{verb} <PIPE_{pipe}>, {number}\n"


def section(kind: str, body: str) -> str:
    """An explicit section."""
    return f"    pto.section.{kind} {{\n{body}    }}\n"


def loop(body: str) -> str:
    """A loop of four trips."""
    return (
        "    %lo = arith.constant 0 : index\n    %hi = arith.constant 4 : index\n    %one = arith.constant 1 : index\n"
        f"    scf.for %j = %lo to %hi step %one {{\n{body}    }}\n"
    )


def function(body: str, name: str = "k", attributes: str = "pto.entry", prologue: str = PROLOGUE) -> str:
    """A function with the usual pointers."""
    attributes = f" attributes {{{attributes}}}" if attributes else ""
    return f"  func.func @{name}({ARGUMENTS}){attributes} {{\n{prologue}{body}    return\n  }}\n"


def module(functions: str, attributes: str = 'pto.backend = "vpto", pto.target_arch = "a5"') -> str:
    """A container with one child that holds the functions."""
    return (
        f'module attributes {{pto.target_arch = "a5"}} {{\nmodule attributes {{{attributes}}} {{\n{functions}}}\n}}\n'
    )


def kernel(*parts: str, attributes: str = 'pto.backend = "vpto", pto.target_arch = "a5"') -> str:
    """A module with one entry whose body is the parts."""
    return module(function("".join(parts)), attributes)
