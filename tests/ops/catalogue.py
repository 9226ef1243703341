"""The operators of the reference by namespace: names as facts (spec/front.md chapter 2), and what is said of each.

`C` occurs in mixed kernels, `E` is real but seldom, `O` is for orchestration or distribution.
"""

TILE = {
    "C": """load store move create full slice extract assemble reshape transpose transpose_view set_validshape
        fillpad fillpad_inplace concat add sub mul maximum minimum div adds subs muls divs maximums minimums
        neg exp sqrt abs relu log recip rsqrt cast row_expand row_expand_add row_expand_sub row_expand_mul
        row_expand_div row_expand_max row_expand_min row_expand_expdif col_expand col_expand_add
        col_expand_sub col_expand_mul col_expand_div col_expand_max col_expand_min col_expand_expdif expands
        row_sum row_max row_min row_prod col_sum col_max col_min col_prod matmul matmul_acc matmul_bias
        batch_matmul batch_matmul_acc tpush_to_aiv tpush_to_aic tpop_from_aic tpop_from_aiv aiv_shard
        aic_gather get_subblock_idx get_block_idx get_block_num""",
    "E": """ci reinterpret_view fillpad_expand read write alloc rem fmod part_add part_mul part_max part_min
        rems fmods and or xor not shl shr ands ors xors shls shrs sin cos cmp cmps sel sels prelu lrelu addc
        subc addsc subsc row_argmax row_argmin col_argmax col_argmin gemv gemv_acc gemv_bias matmul_mx
        matmul_mx_acc matmul_mx_bias tget_scale_addr gather gatherb gather_mask gather_compare scatter
        scatter_mask scatter_update mgather mscatter gather_row paged_gather create_l1 sort32
        mrgsort_format1 mrgsort_format2 tri random""",
    "O": "",
}

TENSOR = {
    "C": """create full slice assemble read write dim reshape transpose concat fillpad set_validshape aiv_shard
        aic_gather add sub mul div maximum minimum adds subs muls divs exp log sqrt rsqrt recip neg abs relu
        cast row_sum row_max row_min row_prod col_sum col_max col_min col_prod row_expand row_expand_add
        row_expand_sub row_expand_mul row_expand_div row_expand_max row_expand_min row_expand_expdif
        col_expand col_expand_add col_expand_sub col_expand_mul col_expand_div col_expand_max col_expand_min
        col_expand_expdif expands matmul matmul_acc""",
    "E": """ci arange view reinterpret_view expand_clone fmod fmods sin cos and or xor not shl shr ands ors xors
        shls shrs part_add part_mul part_max part_min row_argmax row_argmin sort32 batch_matmul
        batch_matmul_acc""",
    "O": "",
}

SYSTEM = {
    "C": """tfree_to_aic tfree_to_aiv aic_initialize_pipe aiv_initialize_pipe reserve_buffer import_peer_buffer
        bar_v bar_m bar_all""",
    "E": "sync_src sync_dst sync_set sync_wait set_ffts fence cacheinvalid syncall",
    "O": "",
}

UNIFIED = {
    "C": "load store move create_tile create_tensor min max cast add sub mul div",
    "E": "arange",
    "O": "submit spmd_submit no_dep dump_tag",
}

CATALOGUE: dict[tuple[str, ...], dict[str, list[str]]] = {
    path: {status: names.split() for status, names in table.items()}
    for path, table in {("tile",): TILE, ("tensor",): TENSOR, ("system",): SYSTEM, (): UNIFIED}.items()
}
