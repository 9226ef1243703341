"""The data and the text of the explorer, without a browser."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from cubelane.check.compiled import CompiledKernel
from cubelane.check.faults import seed_faults
from cubelane.check.kernel_file import Judge
from cubelane.cli.main import run_command
from cubelane.report.page import Subject, page_data, render_compiled
from tests.report.conftest import EXAMPLES, example


def subject(compiled: CompiledKernel, judge: Judge, path: str) -> Subject:
    return Subject(compiled.source, compiled.target, compiled.stages, path, compiled, compiled.judge(judge), judge)


@pytest.fixture(scope="module")
def flash():
    return page_data(subject(*example("flash_attention")))


def test_every_ir_line_names_a_line_of_the_source(flash):
    for column in flash["columns"]:
        for text, line, core, *_ in column["lines"] or []:
            assert 0 <= line <= len(flash["source"]) and core in "cvsm"
            if ".tile." in text or ".system." in text:
                assert line, text


def test_passes_that_change_nothing_have_no_lines(flash):
    same = [c for c in flash["columns"][1:] if not c["lines"]]
    assert same and all(c["changed"] == c["gone"] == 0 for c in same)


def test_crossings_are_marked_and_cores_told_apart(flash):
    final = next(c for c in flash["columns"] if c["name"] == "expand-mixed-kernel")["lines"]
    marked = [text for text, _, _, cross, *_ in final if cross]
    assert marked and all("tpush" in t or "tpop" in t or "tfree" in t for t in marked)
    assert {"c", "v"} <= {core for _, _, core, *_ in final}


def test_why_tells_axis_box_stride_valid_and_chain(flash):
    fact = next(f for f in flash["facts"] if str(f.get("name")).split("__")[0] == "scores" and f.get("chain"))
    assert (fact["box"], fact["stride"], fact["valid"]) == (32, 32, [32, 32])
    assert fact["chain"][0][2] == 37 and "rows" in fact["share"]


def test_timeline_memory_what_if_and_verdicts_are_there(flash):
    assert flash["timeline"]["cycles"] > 0 and len(flash["timeline"]["critical"]) > 10
    for row in flash["memory"]:
        assert max(b for _, b in row["steps"]) + row["rings"] <= row["capacity"]
    modes = {row["mode"]: row for row in flash["whatIf"]}
    assert "row_max" in modes["left_right"]["refused"] and all(modes["up_down"]["cycles"])
    assert all(v["ok"] for v in flash["verdicts"]) and len(flash["verdicts"]) >= 5


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
