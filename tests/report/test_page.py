"""The data and the text of the explorer, without a browser."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cubelane import language
from cubelane.check.compiled import CompiledKernel, compile_program
from cubelane.check.faults import seed_faults
from cubelane.check.kernel_file import Judge
from cubelane.check.timing import timed
from cubelane.check.tune import Variant, with_variant
from cubelane.cli.main import run_command
from cubelane.ir.diagnostic import Diagnostic
from cubelane.report.page import Subject, page_data, render_compiled
from cubelane.report.what_if import RESOLUTION, what_if
from tests.report.conftest import EXAMPLES, example


def subject(compiled: CompiledKernel, judge: Judge, path: str) -> Subject:
    return Subject(compiled.source, compiled.target, compiled.stages, path, compiled, compiled.judge(judge), judge)


@pytest.fixture(scope="module")
def flash():
    return page_data(subject(*example("flash_attention")))


def fact_of(data: dict, number: int) -> dict:
    """What is known of a line, as the page puts it together."""
    kind, line, name, chain = data["facts"][number]
    return {**data["kinds"][kind], "line": line, "name": name, "chain": chain}


def test_every_ir_line_names_a_line_of_the_source(flash):
    for text, line, core, *_ in flash["lines"]:
        assert 0 <= line <= len(flash["source"]) and core in "cvsm"
        if ".tile." in text or ".system." in text:
            assert line, text


def test_columns_hold_the_text_of_every_pass(flash):
    compiled = example("flash_attention")[0]
    stages = {stage.name: language.print_program(stage.module) for stage in compiled.stages}
    for column in flash["columns"][1:]:
        if column["lines"] is not None:
            lines = [flash["lines"][n][0] for n in column["lines"]]
            printed = stages[column["name"]].splitlines()
            assert [x for x in printed if x.strip() in {line.strip() for line in lines}]
            assert {line.strip() for line in lines} <= {x.strip() for x in printed}
            assert len(column["fresh"]) == column["changed"] and all(0 <= i < len(lines) for i in column["fresh"])


def test_passes_that_change_nothing_have_no_lines(flash):
    same = [c for c in flash["columns"][1:] if not c["lines"]]
    assert same and all(c["changed"] == c["gone"] == 0 for c in same)


def test_crossings_are_marked_and_cores_told_apart(flash):
    final = [
        flash["lines"][n] for n in next(c for c in flash["columns"] if c["name"] == "expand-mixed-kernel")["lines"]
    ]
    marked = [text for text, _, _, cross, *_ in final if cross]
    assert marked and all("tpush" in t or "tpop" in t or "tfree" in t for t in marked)
    assert {"c", "v"} <= {core for _, _, core, *_ in final}


def test_why_tells_axis_box_stride_valid_and_chain(flash):
    facts = [fact_of(flash, n) for n in range(len(flash["facts"]))]
    fact = next(f for f in facts if f["name"].split("__")[0] == "scores" and f["chain"] >= 0)
    assert (fact["box"], fact["stride"], fact["valid"]) == (32, 32, [32, 32])
    assert "rows" in fact["share"]
    chain, at = [], fact["chain"]
    while at >= 0:
        assert flash["links"][at][3] < at, "a link comes behind the one it names"
        chain.append(flash["links"][at])
        at = flash["links"][at][3]
    assert chain[-1][2] == 37


def chain_of(ops: int) -> str:
    """A product and a chain of vector ops."""
    body = "\n".join(f"            y = pl.add(y, {i}.5)" for i in range(ops))
    return (
        "import cubelane.language as pl\n@pl.program\nclass Chain:\n    @pl.function\n"
        "    def main(self, x: pl.Tensor[[64, 64], pl.FP16], w: pl.Tensor[[64, 64], pl.FP16],\n"
        "             out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:\n"
        "        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):\n"
        f"            y = pl.matmul(x, w, out_dtype=pl.FP32)\n{body}\n"
        "            out = pl.assemble(out, y, [0, 0])\n        return out\n"
    )


def test_page_grows_with_the_program_and_no_faster():
    def page(ops: int) -> tuple[int, float]:
        compiled = compile_program(language.parse(chain_of(ops), "k.py"), keep_stages=True)
        verdict = compiled.judge()
        start = time.process_time()
        return len(render_compiled(compiled, verdict, Judge(), "k.py")), time.process_time() - start

    page(5)
    (small, quick), (large, slow) = page(40), page(160)
    print(f"40 ops {quick:.2f} s, 160 ops {slow:.2f} s, {large} bytes")
    assert large < 4.2 * small
    assert slow < 9 * quick


def test_timeline_memory_what_if_and_verdicts_are_there(flash):
    assert flash["timeline"]["cycles"] > 0 and len(flash["timeline"]["critical"]) > 10
    for row in flash["memory"]:
        live = max(b for _, b in row["steps"])
        assert live + row["rings"] <= row["capacity"] and row["allotted"] <= row["capacity"]
        assert sum(size for _, size, _ in row["alive"]) == live
    modes = {row["mode"]: row for row in flash["whatIf"]}
    assert "row_max" in modes["left_right"]["refused"]
    assert modes["up_down"]["chosen"] and not modes["none"]["chosen"]
    assert all(v["ok"] for v in flash["verdicts"])
    names = " ".join(v["name"] for v in flash["verdicts"])
    for word in ("compiles", "race", "oracle", "golden", "channel protocol", "lanes of", "PTO text", "memory budget"):
        assert word in names


def test_what_if_shows_each_mode_and_depth_with_its_timeline(flash):
    modes = {row["mode"]: row for row in flash["whatIf"]}
    cells = {cell["depth"]: cell for cell in modes["up_down"]["cells"]}
    assert set(cells) == {1, 2, 4, 8}
    assert cells[modes["up_down"]["depth"]]["cycles"] == flash["timeline"]["cycles"]
    assert modes["none"]["cells"][-1] == {"depth": 8, "refused": "does not fit"}
    for cell in (*cells.values(), *modes["none"]["cells"][:-1]):
        assert [track["agent"] for track in cell["tracks"]] == ["AIC", "AIV0", "AIV1"]
        for track in cell["tracks"]:
            for kind in ("compute", "move", "wait"):
                starts, lengths = track[kind][::2], track[kind][1::2]
                ends = [s + n for s, n in zip(starts, lengths, strict=True)]
                assert all(a < b for a, b in zip(ends, starts[1:], strict=False)) and len(starts) <= RESOLUTION + 1
                assert all(end <= cell["cycles"] for end in ends)


@pytest.mark.parametrize("name", ["gated_mlp", "flash_attention", "contrastive_loss"])
def test_what_if_says_what_compiling_it_that_way_says(name: str):
    compiled, judge, _ = example(name)
    for row in what_if(compiled, timed(compiled, judge), judge, 0):
        for cell in row.get("cells", ()):
            if cell["depth"] not in (1, 8):
                continue
            source = with_variant(compiled.source, Variant(row["mode"], cell["depth"]))
            try:
                again = timed(compile_program(source, "a2a3", row["mode"]), judge).timeline()
                assert again is not None and cell["cycles"] == again.cycles
            except Diagnostic as problem:
                assert cell["refused"] in (problem.message, "does not fit" if problem.code == "budget" else "")


def test_page_is_one_small_file_that_asks_for_nothing():
    compiled, judge, path = example("flash_attention")
    html = render_compiled(compiled, compiled.judge(judge), judge, path)
    assert len(html.encode()) < 2_000_000
    head = html.split('<script type="application/json"')[0]
    assert not re.search(r"""(src|href)\s*=\s*["'](?!data:|#)""", head)
    assert "connect-src" not in head and "default-src 'none'" in head


def test_same_input_gives_the_same_bytes():
    pages = [render_compiled(c, c.judge(j), j, p) for c, j, p in (example("gated_mlp"), example("gated_mlp"))]
    assert pages[0] == pages[1]


def broken(kind: str) -> Subject:
    """An example whose final program has one seeded fault."""
    compiled, judge, path = example("matmul_bias_gelu")
    for fault in seed_faults(compiled.module, (kind,)):
        wrong = replace(compiled, module=fault.module)
        found = page_data(subject(wrong, judge, path))["lanes"]
        if any(t["overlaps"] for t in found):
            return subject(wrong, judge, path)
    raise AssertionError("no fault shows")


def test_lanes_of_a_broken_kernel_overlap_and_leave_a_gap():
    data = page_data(broken("lane offset zero"))
    tensor = next(t for t in data["lanes"] if t["overlaps"])
    rows, columns = tensor["rows"], tensor["columns"]
    assert tensor["overlaps"] == [[0, rows // 2, 0, columns]]
    assert tensor["gaps"] == [[rows // 2, rows, 0, columns]]
    assert not all(v["ok"] for v in data["verdicts"])


def test_lanes_of_a_good_kernel_tile_the_tensor(flash):
    (tensor,) = flash["lanes"]
    assert [w["rect"] for w in tensor["windows"]] == [[0, 32, 0, 64], [32, 64, 0, 64]]
    assert tensor["overlaps"] == tensor["gaps"] == []


def test_command_writes_a_page_for_a_refused_kernel_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    page = tmp_path / "r.html"
    words = [str(EXAMPLES / "flash_attention.py"), "--mode", "left_right", "-o", str(page)]
    assert run_command("report", words) == 1
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.S).group(1))  # pyright: ignore
    assert not data["verdicts"][0]["ok"] and data["timeline"] is None and len(data["columns"]) > 5
    assert "row_max" in data["verdicts"][0]["findings"][0]["message"]


def test_compile_writes_report_and_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    page, trace = tmp_path / "r.html", tmp_path / "t.json"
    assert run_command("compile", [str(EXAMPLES / "lora.py"), "--report", str(page), "--trace", str(trace)]) == 0
    out = capsys.readouterr().out
    assert "timing model (an estimate, not a measurement)" in out and "as fast as without split" in out
    assert page.read_text().startswith("<!doctype html>") and json.loads(trace.read_text())["traceEvents"]
