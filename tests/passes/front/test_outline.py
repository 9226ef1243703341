"""Scopes become functions (spec/front.md 3.4)."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from cubelane.ir.context import new_context
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import Direction, direction_of, functions_of
from cubelane.passes import outline_incore_scopes

T = "!gm.tensor<8x8xf32>"


def scope(body: str, result: str, properties: str = "") -> str:
    """A scope that yields one tensor."""
    return f"""%{result} = "kernel.scope"() <{{level = "CORE_GROUP"{properties}}}> ({{ {body} }}) : () -> {T}"""


def outlined(*functions: str) -> ModuleOp:
    """The program after the pass."""
    module = Parser(new_context(), "builtin.module {" + "\n".join(functions) + "}").parse_module()
    module.verify()
    outline_incore_scopes()(module)
    module.verify()
    return module


def function(name: str, body: str, returned: str) -> str:
    """A function of two tensors."""
    return f"""func.func @{name}(%x: {T}, %o: {T} {{kernel.direction = #kernel.direction<out>}}) -> {T} {{
      %c0 = arith.constant 0 : index
      {body}
      func.return %{returned} : {T}
    }}"""


EXP = f'%e = "gm.exp"(%x) : ({T}) -> {T}\n'
WRITE = f'%w = "gm.assemble"(%o, %e, %c0, %c0) : ({T}, {T}, index, index) -> {T}\nkernel.yield %w : {T}'


def hint(name: str) -> str:
    """The name property of a scope."""
    return f', name_hint = "{name}"'


def test_functions_are_named_by_hint_or_by_number():
    one = scope(EXP + WRITE, "a")
    two = scope(EXP + WRITE, "b", hint("mine"))
    three = scope(EXP + WRITE, "c", hint("mine"))
    module = outlined(
        function("f", f"{one}\n{two}\n{three}", "c"), function("g", scope(EXP + WRITE, "d", hint("mine")), "d")
    )
    found = [f.sym_name.data for f in functions_of(module)]
    assert found == ["f_incore_0", "mine", "mine_0", "f", "g_mine", "g"]


def test_read_value_is_in_and_written_value_out():
    kernel = functions_of(outlined(function("f", scope(EXP + WRITE, "a"), "a")))[0]
    assert [direction_of(kernel, i) for i in range(2)] == [Direction.IN, Direction.OUT]


def test_computed_value_is_handed_out():
    kernel, main = functions_of(outlined(function("f", scope(EXP + f"kernel.yield %e : {T}", "a"), "a")))
    assert len(kernel.body.block.last_op.operands) == 1
    assert kernel.body.block.last_op.operands[0].name_hint == "e"
    assert main.body.block.last_op.operands[0].owner.name == "func.call"


def test_unused_result_is_not_handed_out():
    kernel = functions_of(outlined(function("f", scope(EXP + f"kernel.yield %e : {T}", "a"), "x")))[0]
    assert len(kernel.body.block.last_op.operands) == 0


def region(mode: str, name: str = "r") -> str:
    """A region that hands out `x`."""
    return f"""%{name} = "kernel.split_aiv"() <{{mode = #kernel.split<{mode}>}}> ({{
      %lane{name} = "tile.get_subblock_idx"() : () -> index
      kernel.yield %x : {T}
    }}) : () -> {T}
    """


@pytest.mark.parametrize(
    "modes, split", [(("up_down", "up_down"), "up_down"), (("up_down", "left_right"), None), (("none",), None)]
)
def test_regions_of_one_mode_give_the_function_its_split(modes, split):
    regions = "".join(region(mode, f"r{i}") for i, mode in enumerate(modes))
    kernel = functions_of(outlined(function("f", scope(regions + f"kernel.yield %r0 : {T}", "a"), "a")))[0]
    assert "kernel.split_aiv" in kernel.attributes
    found = kernel.attributes.get("kernel.split")
    assert (found and found.data.value) == split


def test_split_of_the_scope_beside_a_region_is_refused():
    body = region("up_down") + f"kernel.yield %r : {T}"
    with pytest.raises(Diagnostic) as refused:
        outlined(function("f", scope(body, "a", ", split = #kernel.split<up_down>"), "a"))
    assert refused.value.code == "split-scope-with-regions"


def test_ring_depth_beside_a_region_is_accepted():
    body = region("up_down") + f"kernel.yield %r : {T}"
    kernel = functions_of(outlined(function("f", scope(body, "a", ", slot_num = 3 : i64"), "a")))[0]
    assert list(kernel.attributes)[1:] == ["kernel.slot_num", "kernel.split_aiv", "kernel.split"]


def test_scope_in_a_scope_is_refused():
    inner = scope(f"kernel.yield %x : {T}", "i")
    with pytest.raises(Diagnostic) as refused:
        outlined(function("f", scope(f"{inner}\nkernel.yield %i : {T}", "a"), "a"))
    assert refused.value.code == "nested-scope"


def test_function_without_scope_is_left_as_it_is():
    module = outlined(function("f", EXP, "e"))
    (f,) = functions_of(module)
    assert "kernel.kind" not in f.attributes
