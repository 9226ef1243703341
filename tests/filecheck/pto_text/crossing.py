# RUN: cubelane emit %s --as pto --target a5 | filecheck %s
# RUN: cubelane emit %s --as pto --target a2a3 | filecheck %s --check-prefix RINGS
# Both cores of a kernel: arguments, constants, views, the channel, tiles at their addresses (the form of front.md 5.6).

import pypto.language as pl


@pl.program
class Mm:
    @pl.function
    def main(
        self,
        a: pl.Tensor[[16, 16], pl.FP16],
        b: pl.Tensor[[16, 16], pl.FP16],
        bias: pl.Tensor[[16, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
    ) -> pl.Tensor[[16, 16], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)], name_hint="mm"):
            out[:, :] = pl.add(pl.matmul(a, b, out_dtype=pl.FP32), bias)
        return out


# CHECK:      module attributes {pto.target_arch = "a5"} {
# CHECK-NEXT: func.func @mm_aic(%arg0: !pto.ptr<f16>, %arg1: !pto.ptr<f16>, %arg2: !pto.ptr<f32>, %arg3: !pto.ptr<f32>) attributes {pto.kernel_kind = #pto.kernel_kind<cube>} {
# CHECK-NEXT: %c0_i64 = arith.constant 0 : i64
# CHECK-NEXT: %c512_i64 = arith.constant 512 : i64
# CHECK-NEXT: %c16_index = arith.constant 16 : index
# CHECK-NEXT: %c1_index = arith.constant 1 : index
# CHECK:      %a_view = pto.make_tensor_view %arg0, shape = [%c16_index, %c16_index], strides = [%c16_index, %c1_index] {layout = #pto.layout<nd>} : !pto.tensor_view<?x?xf16>
# CHECK:      = pto.import_reserved_buffer {name = "mm_c2v_slot_buffer", peer_func = @mm_aiv} -> i32
# CHECK-NEXT: pto.aic_initialize_pipe {dir_mask = 1, slot_size = 1024, slot_num = 2} (c2v_consumer_buf = %mm_c2v_slot_buffer_import : i32, v2c_consumer_buf = %c0_i32 : i32)
# CHECK-NEXT: %a_mat = pto.alloc_tile addr = %c0_i64 valid_row = %c16_index valid_col = %c16_index : !pto.tile_buf<loc=mat, dtype=f16, rows=16, cols=16, v_row=?, v_col=?, blayout=col_major, slayout=row_major, fractal=512, pad=0>
# CHECK-NEXT: %a_pview = pto.partition_view %a_view, offsets = [%c0_index, %c0_index], sizes = [%c16_index, %c16_index] : !pto.tensor_view<?x?xf16> -> !pto.partition_tensor_view<16x16xf16>
# CHECK-NEXT: pto.tload ins(%a_pview : !pto.partition_tensor_view<16x16xf16>) outs(%a_mat : {{.*}})
# CHECK:      pto.tmatmul ins(%a_mat_Left, %b_mat_Right : {{.*}}) outs(%{{.*}} : !pto.tile_buf<loc=acc, dtype=f32, rows=16, cols=16, v_row=?, v_col=?, blayout=col_major, slayout=row_major, fractal=1024, pad=0>)
# CHECK-NEXT: pto.tpush_to_aiv(%{{.*}} : {{.*}}) {split = 1}
# CHECK-NEXT: return
# CHECK:      func.func @mm_aiv({{.*}}, %__pypto_spmd_subblock_idx: i32) attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
# CHECK:      %subblock_idx = arith.index_cast %__pypto_spmd_subblock_idx : i32 to index
# CHECK-NEXT: = pto.reserve_buffer {name = "mm_c2v_slot_buffer", size = 2048, location = #pto.address_space<vec>, auto = false, base = 0} -> i32
# CHECK-NEXT: pto.aiv_initialize_pipe
# CHECK:      %bias__tile = pto.alloc_tile addr = %c2048_i64 valid_row = %c8_index valid_col = %c16_index
# CHECK:      [[POP:%.*]] = pto.tpop_from_aic {split = 1} -> !pto.tile_buf<loc=vec, dtype=f32, rows=8, cols=16, v_row=?, v_col=?, blayout=row_major, slayout=none_box, fractal=512, pad=0>
# CHECK:      pto.tadd ins([[POP]], %bias__tile : {{.*}}) outs(
# CHECK-NEXT: pto.tfree_from_aic {split = 1}
# CHECK:      pto.tstore ins({{.*}}) outs(%out_pview : !pto.partition_tensor_view<8x16xf32>)

# RINGS: func.func @mm_aic(%arg0: !pto.ptr<f16>, %arg1: !pto.ptr<f16>, %arg2: !pto.ptr<f32>, %arg3: !pto.ptr<f32>, %arg4: !pto.ptr<f32>)
# RINGS: pto.aic_initialize_pipe {dir_mask = 1, slot_size = 1024, slot_num = 2} (gm_slot_buffer = %arg4 : !pto.ptr<f32>, c2v_consumer_buf
