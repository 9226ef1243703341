"""Pointers, views, allocation, scalar memory and queries: neutral ops that both cores may need (spec/pto.md 4.4)."""

from cubelane.ir.pto.decl import Clause, ClauseStyle, Effect, Form, OpDecl, Role, Typed, declare
from cubelane.ir.pto.evidence import Placeable
from cubelane.ir.pto.rules import casts_pointer, exact_element, same_type
from cubelane.ir.pto.spaces import Pipe

POINTERS = (
    declare("castptr", "src:address -> result:address", rules=(casts_pointer,), tags="cast"),
    declare("addptr", "ptr:ptr offset:int -> result:ptr", typed=Typed.FIRST, rules=(same_type,)),
    declare("ptrtoint", "ptr:ptr -> result:int"),
    declare("inttoptr", "src:int -> result:ptr"),
    declare("tile_buf_addr", "tile:tile -> result:any"),
    declare("tensor_view_addr", "view:any -> result:any", tags="tile_level"),
)
VIEWS = (
    declare(
        "make_tensor_view",
        "ptr:ptr -> result:view",
        typed=Typed.NOTHING,
        clauses=(
            Clause("shape", 1, 8, ClauseStyle.LIST, required=True),
            Clause("strides", 1, 8, ClauseStyle.LIST, required=True),
        ),
        clause_separator=", ",
    ),
    declare(
        "partition_view",
        "view:view -> result:view",
        typed=Typed.FIRST,
        clauses=(
            Clause("offsets", 1, 8, ClauseStyle.LIST, required=True),
            Clause("sizes", 1, 8, ClauseStyle.LIST, required=True),
        ),
        clause_separator=", ",
    ),
    declare(
        "subview",
        "tile:tile [offsets:index]* -> result:tile",
        typed=Typed.FIRST,
        clauses=(Clause("sizes", 0, 4, ClauseStyle.SIZES), Clause("valid", 0, 4, ClauseStyle.SIZES)),
    ),
)
ALLOCATION = (
    declare(
        "alloc_tile",
        "-> result:tile",
        typed=Typed.NOTHING,
        clauses=(
            Clause("addr", 1, 1, ClauseStyle.VALUE),
            Clause("valid_row", 1, 1, ClauseStyle.VALUE),
            Clause("valid_col", 1, 1, ClauseStyle.VALUE),
        ),
        tags="tile_level allocation",
    ),
    declare(
        "alloc_multi_tile",
        "-> result:tile",
        typed=Typed.NOTHING,
        clauses=(
            Clause("addr", 1, 8, ClauseStyle.LIST),
            Clause("valid_row", 1, 1, ClauseStyle.VALUE),
            Clause("valid_col", 1, 1, ClauseStyle.VALUE),
        ),
        tags="tile_level allocation",
    ),
    declare("multi_tile_get", "tiles:tile index:int -> result:tile", typed=Typed.FIRST),
    declare("reserve_buffer", "-> result:int", form=Form.CALL, tags="tile_level"),
    declare("import_reserved_buffer", "-> result:int", form=Form.CALL),
    declare("tassign", "tile:tile addr:int", affinity=Placeable(), effect=Effect.WRITE, tags="tile_level"),
    declare(
        "set_validshape",
        "tile:tile row:int col:int",
        affinity=Placeable(),
        effect=Effect.WRITE,
        typed=Typed.FIRST,
    ),
    declare("get_validshape", "tile:tile -> row:int col:int", effect=Effect.READ),
)
SCALAR_MEMORY = (
    declare(
        "load_scalar",
        "ptr:ptr [offset:index] -> result:scalar",
        affinity=Placeable(),
        effect=Effect.READ,
        pipe=Pipe.S,
        rules=(exact_element("ptr", None),),
    ),
    declare(
        "store_scalar",
        "value:scalar ptr:ptr [offset:index]",
        affinity=Placeable(),
        effect=Effect.WRITE,
        pipe=Pipe.S,
        type_order=("ptr", "value"),
        rules=(exact_element("ptr", "value"),),
    ),
    declare("ld_dev", "ptr:ptr [offset:index] -> result:scalar", affinity=Placeable(), effect=Effect.READ, pipe=Pipe.S),
    declare(
        "st_dev",
        "value:scalar ptr:ptr [offset:index]",
        affinity=Placeable(),
        effect=Effect.WRITE,
        pipe=Pipe.S,
        type_order=("ptr", "value"),
    ),
)
QUERIES = (
    *(
        declare(name, "-> result:i64", tags="simt_in_helper query")
        for name in ("get_block_idx", "get_subblock_idx", "get_block_num", "get_subblock_num")
    ),
    declare("trap", affinity=Placeable(), effect=Effect.WRITE, tags="simt_in_helper"),
)
PIPES = tuple(
    declare(name, "args:any* -> outs:any*", affinity=Placeable(), effect=Effect.WRITE, form=Form.CALL, tags="pipe_sync")
    for name in (
        "aic_initialize_pipe",
        "aiv_initialize_pipe",
        "initialize_l2l_pipe",
        "initialize_l2g2l_pipe",
        "create_eventid_array",
        "eventid_array_get",
        "eventid_array_set",
    )
)

OPS: tuple[OpDecl, ...] = (*POINTERS, *VIEWS, *ALLOCATION, *SCALAR_MEMORY, *QUERIES, *PIPES)
assert all(entry.role is Role.NEUTRAL for entry in OPS)
