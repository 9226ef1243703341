# RUN: cubelane emit %s:emitc_default --as pto | filecheck %s --check-prefix=DEFAULT
# RUN: cubelane emit %s:emitc_explicit --as pto | filecheck %s --check-prefix=EXPLICIT
# RUN: cubelane emit %s:emitc_caller --as pto | filecheck %s --check-prefix=HELPER
# RUN: cubelane emit %s:vpto_caller --as pto | filecheck %s --check-prefix=VPTO
"""Spec 13.1, 4 to 6: kinds of EmitC entries and helpers, and of kernel modules that another kernel calls."""

from ptodsl import pto


def work(x):
    pto.store_scalar(1.0, x)


@pto.jit(backend="emitc")
def emitc_default(x: pto.ptr(pto.f32, "gm")):
    work(x)


@pto.jit(backend="emitc", kernel_kind="vector")
def emitc_explicit(x: pto.ptr(pto.f32, "gm")):
    work(x)


@pto.jit(backend="emitc", entry=False, kernel_kind="vector")
def emitc_helper(x: pto.ptr(pto.f32, "gm")):
    work(x)


@pto.jit(backend="emitc")
def emitc_caller(x: pto.ptr(pto.f32, "gm")):
    emitc_helper(x)


@pto.jit(entry=False)
def vpto_helper(x: pto.ptr(pto.f32, "gm")):
    work(x)


@pto.jit
def vpto_caller(x: pto.ptr(pto.f32, "gm")):
    vpto_helper(x)


# DEFAULT-NOT: kernel_kind
# DEFAULT: module attributes {pto.backend = "emitc", pto.target_arch = "a5"} {
# DEFAULT-NEXT: attributes {pto.entry} {
# DEFAULT-NOT: kernel_kind

# EXPLICIT: module attributes {pto.backend = "emitc", pto.target_arch = "a5"} {
# EXPLICIT-NEXT: attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>} {

# HELPER: module attributes {pto.backend = "emitc", pto.target_arch = "a5"} {
# HELPER: func.call @emitc_helper(
# HELPER: func.func private @emitc_helper(
# HELPER: {pto.backend = "emitc", pto.kernel_kind = #pto.kernel_kind<vector>, pto.target_arch = "a5"} {
# HELPER-NEXT: func.func public @emitc_helper(
# HELPER-SAME: pto.ptodsl.logical_name = "emitc_helper", pto.visibility = "external"

# VPTO-NOT: kernel_kind
# VPTO: module attributes {pto.backend = "vpto", pto.target_arch = "a5"} {
# VPTO: func.call @vpto_helper(
# VPTO: module attributes {pto.backend = "vpto", pto.target_arch = "a5"} {
# VPTO: func.func public @vpto_helper(
# VPTO-NOT: kernel_kind
