"""Every numbered row of spec/pto.md that a user can see has a test: the table, and a walker that finds it complete.

An entry is `file::test` below tests/, a file of the corpus (`corpus/...`) or of the FileCheck tests (`filecheck/...`).
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from cubelane.cli.ptoas import _parser as ptoas_parser  # pyright: ignore[reportPrivateUsage]

from .snippets import C, V, flag, kernel, signal
from .stages import refusal, shape

TESTS = Path(__file__).parents[1]
SPECIFICATION = TESTS.parents[1] / "shared" / "spec" / "pto.md"
KIND, MISUSE = "ptodsl/test_kernel_kind.py", "ptodsl/test_misuse.py"
ACCEPTANCE, FILECHECK = "pto/test_acceptance.py", "filecheck/pto/acceptance"
VERIFIERS, COMMAND, MICRO = "pto/test_verifiers.py", "pto/test_command.py", "micro"
BROKEN = f"{VERIFIERS}::test_a_broken_rule_is_told_at_its_op"

TRACING = {
    "1": f"{KIND}::test_default_mixed_kernel_names_no_kind_anywhere",
    "2": f"{KIND}::test_explicit_kind_is_on_child_and_function",
    "3": f"{KIND}::test_a_kind_that_is_none_or_unknown_is_explicit_and_never_serialized",
    "4": f"{KIND}::test_emitc_entry_names_its_kind_on_the_function_only",
    "5": f"{KIND}::test_emitc_helper_child_keeps_even_the_default_kind",
    "6": f"{KIND}::test_vpto_entry_and_kernel_module_without_kinds_are_two_children_without_kinds",
    "7": f"{KIND}::test_text_reads_back_and_prints_the_same",
    "8": f"{KIND}::test_native_architecture",
}
EMISSION = {
    "9": f"{FILECHECK}/09_vector_then_cube.pto",
    "10": f"{FILECHECK}/10_cube_then_vector.pto",
    "11": f"{FILECHECK}/11_tileops.pto",
    "12": f"{FILECHECK}/12_pure_cube.pto",
    "13": f"{FILECHECK}/13_explicit_vector.pto",
    "14": f"{FILECHECK}/14_explicit_vector_with_cube_section.pto",
    "15": f"{FILECHECK}/15_both_kinds_in_one_loop.pto",
    "16": f"{FILECHECK}/16_lone_shared_flag.pto",
    "17": f"{FILECHECK}/17_shared_signal_on_a_border.pto",
    "18": f"{FILECHECK}/18_signals_of_both_cores.pto",
    "19": f"{FILECHECK}/19_event_between_the_cores.pto",
    "20": f"{FILECHECK}/20_cast_between_load_and_store.pto",
    "21": f"{FILECHECK}/21_barrier_between_the_cores.pto",
    "22": f"{FILECHECK}/22_two_entries.pto",
    "22a": f"{FILECHECK}/22a_vector_with_flags.pto",
    "22b": f"{FILECHECK}/22b_cube_with_flags.pto",
    "22c": f"{FILECHECK}/22c_both_with_flags.pto",
    "23": f"{FILECHECK}/23_unused_helper.pto",
    "23a": f"{FILECHECK}/23a_entry_and_scalar_helper.pto",
    "23b": f"{FILECHECK}/23b_tile_ops_and_a_cube_helper.pto",
    "24": f"{FILECHECK}/24_nested_sections.pto",
    "25": f"{FILECHECK}/25_named_container.pto",
    "26": f"{FILECHECK}/26_accumulator_to_ub_then_vector.pto",
}
RESTATED = {
    "set_flag FIX->M, sync.set MTE1": f"{FILECHECK}/sync_of_both_cores_among_sections.pto",
    "set MTE3->MTE2, wait MTE2->V": f"{FILECHECK}/pending_flags_of_vector_only.pto",
    "wait S->MTE2 in a private helper": f"{FILECHECK}/pending_wait_in_private_helper.pto",
    "explicit sections around MTE2/S flags": f"{FILECHECK}/shared_flags_in_explicit_sections.pto",
    "loop with nested section.vector": f"{FILECHECK}/siblings_of_a_nested_section.pto",
    "mte_ub_l1, mte_l1_ub": f"{FILECHECK}/ub_to_l1_and_back.pto",
    "vlds/vadd/vsts without vecscope": f"{FILECHECK}/vector_work_without_scope.pto",
    "child with vpto backend, empty function": f"{FILECHECK}/empty_function.pto",
    "duplicate section.vector": f"{FILECHECK}/two_sections_of_one_kind.pto",
    "simt entry used only from section.vector": f"{FILECHECK}/simt_entry_of_vector_work.pto",
}
TRAPS = {
    "1": f"{KIND}::test_explicit_kind_is_on_child_and_function",
    "2": f"{KIND}::test_a_kind_that_is_none_or_unknown_is_explicit_and_never_serialized",
    "3": f"{KIND}::test_emitc_helper_child_keeps_even_the_default_kind",
    "4": "corpus/sync/set_mte1_mte2__v_v.pto",
    "5": f"{ACCEPTANCE}::test_19_a_fix_to_v_event_is_set_on_cube_and_awaited_on_vector",
    "6": f"{ACCEPTANCE}::test_loops_of_the_manual_gemm_resolve_to_cube",
    "7": "corpus/sections/cast_between_load_and_store.pto",
    "8": f"{ACCEPTANCE}::test_scalar_reads_serve_both_cores_and_writes_do_not",
    "9": f"{ACCEPTANCE}::test_22_two_raw_entries_land_in_one_child_each",
    "10": "corpus/sections/query_between.pto",
    "11": "corpus/refused/first_of_two_problems.pto",
    "12": f"{ACCEPTANCE}::test_a_refused_module_is_left_as_it_was",
    "13": "corpus/sections/explicit_twice.pto",
    "14": f"{ACCEPTANCE}::test_09_10_raw_work_gives_one_vector_and_one_cube_child_vector_first",
    "15": f"{ACCEPTANCE}::test_25_a_named_container_gives_no_duplicate_symbols",
    "16": f"{FILECHECK}/vector_work_without_scope.pto",
    "17": f"{ACCEPTANCE}::test_14_work_of_the_other_core_conflicts_with_an_explicit_kind",
    "18": "pto/test_text.py::test_types_print_canonically",
    "19": f"{FILECHECK}/ub_to_l1_and_back.pto",
    "20": "ptodsl/test_cases.py::test_f17_signals_with_run_time_ids_per_lane_and_as_a_broadcast",
    "21": f"{MICRO}/test_examples.py::test_example_is_equal_to_numpy_and_clean",
    "22": "pto/test_expand.py::test_fractal_loads_count_blocks",
    "23": f"{MICRO}/test_raw.py::test_layouts_out_of_the_accumulator",
    "24": "filecheck/pto/vecscope_one.pto",
    "25": "corpus/refused/escaping_register.pto",
    "26": "pto/test_cases_f.py::test_f07_equal_vdups_on_both_sides_of_a_barrier_stay_two",
    "27": "pto/test_cases_f.py::test_f09_flags_stay_inside_the_branch_with_what_they_guard",
    "28": "pto/test_cases_f.py::test_f17_cross_core_signals_accept_every_legal_pipe_mode_and_id",
    "29": "corpus/sections/explicit_only.pto",
    "30": f"{KIND}::test_default_kind_gives_one_vector_and_one_cube_child",
    "31": f"{MISUSE}::test_moves_need_explicit_mode",
    "32": "corpus/sections/aicore_marker.pto",
    "33": "corpus/sections/explicit_vector_module.pto",
    "34": "pto/test_rows.py::test_a_module_without_an_entry_has_a_kind_too",
    "35": "pto/test_behaviours.py::test_the_three_behaviours_side_by_side",
    "36": f"{FILECHECK}/23b_tile_ops_and_a_cube_helper.pto",
}
FAMILIES = ("mad family", "castptr", "addptr", "load/store_scalar", "vlds / vsts", "vcmp", "vcvt", "sync.set/wait",
            "mte_l0c_*", "mte_l1_l0a/b")  # fmt: skip
VERIFIED = dict.fromkeys(FAMILIES, BROKEN)
TYPES = {
    "pointer": "pto/test_text.py::test_types_print_canonically",
    "vector register": BROKEN,
    "predicate": BROKEN,
    "align state": f"{MICRO}/test_vector_ops.py::test_unaligned_streams_load_and_append",
    "tile": f"{VERIFIERS}::test_both_spellings_of_a_tile_are_one_type",
    "views": "pto/test_text.py::test_types_print_canonically",
    "multi buffer": "corpus/ops/scalar.pto",
    "small floats": f"{VERIFIERS}::test_a_kept_rule_reads_and_prints",
    "others": "pto/test_text.py::test_types_with_other_parameters_are_not_equal",
}
OPTIONS = {
    "--pto-arch": f"{COMMAND}::test_arch_comes_from_the_command_line_then_the_module_then_a3",
    "--pto-backend": f"{COMMAND}::test_an_emitc_module_is_not_assembled_as_vpto",
    "--emit-pto-ir": f"{COMMAND}::test_standard_output_is_the_default",
    "--emit-vpto": f"{COMMAND}::test_good_input_writes_the_file_and_nothing_else",
    "--pto-level": f"{COMMAND}::test_levels_and_tile_addresses",
    "--enable-insert-sync": f"{COMMAND}::test_an_option_of_a_part_that_is_not_built_is_refused_by_name",
    "--enable-bufid_sync": f"{COMMAND}::test_an_option_of_a_part_that_is_not_built_is_refused_by_name",
    "--enable-inject-barrier-all-sync": f"{COMMAND}::test_an_option_of_a_part_that_is_not_built_is_refused_by_name",
    "--enable-graph-sync-solver": f"{COMMAND}::test_g08_two_ways_of_automatic_sync_exclude_each_other",
    "--enable-op-fusion": f"{COMMAND}::test_an_option_of_a_part_that_is_not_built_is_refused_by_name",
    "--plan-memory-impl": f"{COMMAND}::test_a_wrong_command_line_is_code_two",
    "--enable-tile-op-expand": f"{COMMAND}::test_the_option_kept_for_compatibility_changes_nothing",
    "--mlir-print-ir-before": f"{COMMAND}::test_ir_is_printed_around_every_pass",
    "--mlir-print-ir-after": f"{COMMAND}::test_ir_is_printed_around_every_pass",
}
SECTIONS = {
    "13.1": TRACING, "13.2": EMISSION, "13.3": RESTATED, "12": TRAPS, "4.10": VERIFIED, "4.1": TYPES, "8.1": OPTIONS,
}  # fmt: skip


@cache
def functions_of(path: Path) -> frozenset[str]:
    """The names of the test functions of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(("section", "row"), [(s, row) for s, rows in SECTIONS.items() for row in rows])
def test_the_test_of_a_row_exists(section: str, row: str):
    file, _, test = SECTIONS[section][row].partition("::")
    path = TESTS / ("pto/" + file if file.startswith("corpus/") else file)
    assert path.is_file(), path
    assert not test or test in functions_of(path), f"{section} {row}: {test}"


def test_every_option_of_the_command_is_in_the_table():
    known = {
        option for action in ptoas_parser()._actions for option in action.option_strings if option.startswith("--")
    }
    assert known - set(OPTIONS) == {"--help", "--no-color", "--format"}
    assert set(OPTIONS) <= known


def part(text: str, heading: str) -> str:
    """The lines of the specification below a heading, to the next one."""
    start = re.search(rf"^#+ {re.escape(heading)}[. ].*$", text, re.MULTILINE)
    assert start is not None
    rest = text[start.end() :]
    end = re.search(r"^#+ ", rest, re.MULTILINE)
    return rest[: end.start()] if end is not None else rest


def first_cells(text: str) -> list[str]:
    """The first cells of the rows of the first table, without its head."""
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("|")]
    return rows[2:]


@pytest.mark.skipif(not SPECIFICATION.is_file(), reason="the specification is not part of the repository")
def test_the_table_has_every_row_of_the_specification():
    text = SPECIFICATION.read_text(encoding="utf-8")
    for section in ("13.1", "13.2", "4.10", "4.1"):
        assert set(first_cells(part(text, section))) == set(SECTIONS[section]), section
    restated = first_cells(part(text, "13.3"))
    assert len(restated) == len(RESTATED) and all(any(row.startswith(key) for row in restated) for key in RESTATED)
    assert set(re.findall(r"^(\d+)\. ", part(text, "12"), re.MULTILINE)) == set(TRAPS)
    options = "\n".join(first_cells(part(text, "8.1"))).replace("before/after", "before`, `--mlir-print-ir-after")
    stated = set(re.findall(r"`(--[\w-]+)", options))
    assert stated == set(OPTIONS), stated ^ set(OPTIONS)


# --- the decision table of 5.6: what stands before and behind, and where the op goes ----------------------------

COLUMNS = {"-/-": ("", ""), "C/C": (C, C), "V/V": (V, V), "C/V": (C, V), "V/C": (V, C)}
ERROR = "error"
DECISIONS: dict[str, tuple[str, dict[str, str]]] = {
    "set_flag[MTE2, MTE1]": (
        flag("set", "MTE2", "MTE1"),
        {"-/-": ERROR, "C/C": "module cube", "V/V": ERROR, "C/V": "CC V", "V/C": "V CC"},
    ),
    "set_flag[MTE2, S]": (
        flag("set", "MTE2", "S"),
        {"-/-": ERROR, "C/C": "module cube", "V/V": "module vector", "C/V": ERROR, "V/C": ERROR},
    ),
    "set_flag[FIX, M]": (
        flag("set", "FIX", "M"),
        {"-/-": "module cube", "C/C": "module cube", "V/V": "V C V", "C/V": "CC V", "V/C": "V CC"},
    ),
    "sync.set FIX": (
        signal("set", "FIX"),
        {"-/-": "module cube", "C/C": "module cube", "V/V": "V C V", "C/V": "CC V", "V/C": "V CC"},
    ),
    "sync.wait MTE3": (
        signal("wait", "MTE3"),
        {"-/-": "module vector", "C/C": "C V C", "V/V": "module vector", "C/V": "C VV", "V/C": "VV C"},
    ),
    "sync.wait MTE2": (
        signal("wait", "MTE2"),
        {"-/-": ERROR, "C/C": "module cube", "V/V": "module vector", "C/V": ERROR, "V/C": ERROR},
    ),
}


@pytest.mark.parametrize(("op", "column"), [(op, column) for op in DECISIONS for column in COLUMNS])
def test_the_decision_table(op: str, column: str):
    """A doubled letter in the table is one section with two ops."""
    text, wanted = DECISIONS[op]
    before, behind = COLUMNS[column]
    written = kernel(before, text, behind)
    if wanted[column] == ERROR:
        assert "section kind ambiguous" in refusal(written).message
    else:
        assert shape(written) == wanted[column].replace("CC", "C").replace("VV", "V")


def test_a_module_without_an_entry_has_a_kind_too():
    assert shape(kernel(V).replace(" attributes {pto.entry}", "")) == "module vector"
