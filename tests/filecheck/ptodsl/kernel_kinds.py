# RUN: cubelane emit %s:default_kind --as pto | filecheck %s --check-prefix=DEFAULT
# RUN: cubelane emit %s:default_kind --as vpto | filecheck %s --check-prefix=SPLIT
# RUN: cubelane emit %s:vector_kind --as pto | filecheck %s --check-prefix=VECTOR
# RUN: cubelane emit %s:vector_kind --as vpto | filecheck %s --check-prefix=ONLYVECTOR
# RUN: cubelane emit %s:cube_kind --as pto | filecheck %s --check-prefix=CUBE
# RUN: cubelane emit %s:cube_kind --as vpto | filecheck %s --check-prefix=ONLYCUBE
# RUN: cubelane emit %s:no_kind --as pto | filecheck %s --check-prefix=NONE
# RUN: not cubelane emit %s:conflict --as vpto 2>&1 | filecheck %s --check-prefix=CONFLICT
"""Spec 13.1, 1 to 3, and the seed's proof of concept, made legal by a vector scope: who writes a kind."""

from ptodsl import pto


def vector_work():
    zero = pto.const(0, dtype=pto.i64)
    source = pto.castptr(zero, pto.ptr(pto.f32, "ub"))
    destination = pto.castptr(zero, pto.ptr(pto.f32, "ub"))
    with pto.vecscope():
        value = pto.vlds(source, 0, pto.vreg_type(64, pto.f32))
        pto.vsts(value, destination, 0, pto.pset_b32(pto.MaskPattern.ALL))


def cube_work():
    zero = pto.const(0, dtype=pto.i64)
    lhs = pto.castptr(zero, pto.ptr(pto.f16, "left"))
    rhs = pto.castptr(zero, pto.ptr(pto.f16, "right"))
    acc = pto.castptr(zero, pto.ptr(pto.f32, "acc"))
    extent = pto.const(16, dtype=pto.i64)
    pto.mad(lhs, rhs, acc, extent, extent, extent)


def both():
    with pto.tileop():
        vector_work()
    with pto.tileop():
        cube_work()


@pto.jit(target="a5")
def default_kind():
    both()


@pto.jit(target="a5", kernel_kind="vector")
def vector_kind():
    vector_work()


@pto.jit(target="a5", kernel_kind="cube")
def cube_kind():
    cube_work()


@pto.jit(target="a5", kernel_kind=None)
def no_kind():
    both()


@pto.jit(target="a5", kernel_kind="vector")
def conflict():
    both()


# DEFAULT: module attributes {pto.target_arch = "a5"} {
# DEFAULT-NEXT: module attributes {pto.backend = "vpto", pto.target_arch = "a5"} {
# DEFAULT-NEXT: func.func @default_kind() attributes {pto.entry} {
# DEFAULT-NOT: {{kernel_kind|pto.section}}
# DEFAULT: func.call @inline_tileop_0__ptodsl_[[V:[0-9a-f]{10}]]()
# DEFAULT: func.call @inline_tileop_1__ptodsl_[[C:[0-9a-f]{10}]]()
# DEFAULT: func.func private @inline_tileop_0__ptodsl_[[V]]()
# DEFAULT-SAME: pto.ptodsl.logical_name = "inline_tileop_0", pto.tileop.helper
# DEFAULT: func.func private @inline_tileop_1__ptodsl_[[C]]()

# SPLIT: module attributes {pto.backend = "vpto", pto.kernel_kind = #pto.kernel_kind<vector>
# SPLIT-NEXT: func.func @default_kind() attributes {pto.entry}
# SPLIT-NOT: pto.mad
# SPLIT: pto.vlds
# SPLIT: module attributes {pto.backend = "vpto", pto.kernel_kind = #pto.kernel_kind<cube>
# SPLIT-NEXT: func.func @default_kind() attributes {pto.entry}
# SPLIT-NOT: pto.vlds
# SPLIT: pto.mad_raw
# SPLIT-NOT: {{kernel_kind|inline_tileop}}

# VECTOR: module attributes {pto.target_arch = "a5"} {
# VECTOR-NEXT: {pto.backend = "vpto", pto.kernel_kind = #pto.kernel_kind<vector>, pto.target_arch = "a5"}
# VECTOR-NEXT: @vector_kind() attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>}
# ONLYVECTOR: #pto.kernel_kind<vector>
# ONLYVECTOR: pto.vsts
# ONLYVECTOR-NOT: #pto.kernel_kind<cube>

# CUBE: module attributes {pto.backend = "vpto", pto.kernel_kind = #pto.kernel_kind<cube>, pto.target_arch = "a5"}
# CUBE-NEXT: @cube_kind() attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<cube>}
# ONLYCUBE: #pto.kernel_kind<cube>
# ONLYCUBE: pto.mad_raw
# ONLYCUBE-NOT: #pto.kernel_kind<vector>

# NONE-NOT: kernel_kind
# NONE: func.func @no_kind() attributes {pto.entry}
# NONE-NOT: kernel_kind

# CONFLICT: error: 'pto.section.cube' conflicts with explicit pto.kernel_kind on its module
