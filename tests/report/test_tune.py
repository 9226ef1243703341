"""`cubelane tune`: ranking, refusals, resuming."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cubelane import language
from cubelane.check import tune, workers
from cubelane.check.compiled import compile_program
from cubelane.check.kernel_file import Judge
from cubelane.check.timing import timed
from cubelane.check.tune import Cache, Outcome, Task, Variant, ranked, variants
from cubelane.cli import tune as command
from cubelane.cli.artifacts import write_text
from cubelane.cli.main import run_command
from cubelane.report.what_if import what_if
from tests.report.conftest import EXAMPLES, example


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = command.main(list(words))
    return code, capsys.readouterr().out


@pytest.mark.parametrize("name", ["flash_attention", "gated_mlp"])
def test_table_names_the_best_and_its_margin(name: str, capsys: pytest.CaptureFixture[str]):
    code, out = run(capsys, str(EXAMPLES / f"{name}.py"), "--no-cache", "--depths", "1,2")
    assert code == 0
    assert "not a measurement" in out
    assert "best: up_down, ring depth" in out
    assert "% behind" in out


def test_refusals_come_with_their_reason(capsys: pytest.CaptureFixture[str]):
    _, out = run(capsys, str(EXAMPLES / "flash_attention.py"), "--no-cache", "--depths", "2")
    assert "left_right, ring depth 2: refused" in out and "row_max" in out


def test_json_holds_what_the_table_holds(capsys: pytest.CaptureFixture[str]):
    code, out = run(capsys, str(EXAMPLES / "gated_mlp.py"), "--no-cache", "--depths", "1,2", "--format", "json")
    facts = json.loads(out)
    assert code == 0 and facts["model"] is True
    cycles = [row["cycles"] for row in facts["ranked"]]
    assert cycles == sorted(cycles) and facts["best"] == facts["ranked"][0]
    assert len(facts["ranked"]) + len(facts["refused"]) == 6


def test_a_second_run_evaluates_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    words = (str(EXAMPLES / "lora.py"), "--depths", "2", "--jobs", "1", "--cache", str(tmp_path / "c.json"))
    first = run(capsys, *words)
    monkeypatch.setattr(tune, "evaluate", lambda task: pytest.fail("evaluated again"))
    assert run(capsys, *words) == first


def children(process: int) -> list[int]:
    """The processes a process has started."""
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def works(process: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to see the workers")
def test_killing_it_half_way_loses_nothing_and_leaves_no_worker_behind(tmp_path: Path):
    cache = tmp_path / "c.json"
    command = [sys.executable, "-m", "cubelane.cli.main", "tune", str(EXAMPLES / "gated_mlp.py")]
    words = [*command, "--depths", "1,2,4", "--cache", str(cache), "--jobs", "2"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while time.monotonic() < until and not (cache.exists() and len(json.loads(cache.read_text())) >= 2):
        time.sleep(0.02)
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = json.loads(cache.read_text())
    assert len(kept) >= 2 and workers
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "best: " in done.stdout
    after = json.loads(cache.read_text())
    assert len(after) == 9 and all(after[key] == kept[key] for key in kept)
    until = time.monotonic() + 20
    while time.monotonic() < until and any(map(works, workers)):
        time.sleep(0.1)
    assert not any(map(works, workers))


def test_cache_forgets_a_changed_kernel_and_survives_rubbish(tmp_path: Path):
    path = tmp_path / "c.json"
    path.write_text("{ not json")
    cache, task = Cache(path, write_text), Task("k.py", "a2a3", 0, Variant("none", 1))
    assert cache.get(Cache.key(task, "one")) is None
    outcome = Outcome("none", 1, None, 5, 0.1, 0.0, "equal")
    cache.put(Cache.key(task, "one"), outcome)
    again = Cache(path, write_text)
    assert again.get(Cache.key(task, "one")) == outcome
    assert again.get(Cache.key(task, "two")) is None


REGION = """
import cubelane.language as pl

@pl.program
class Region:
    @pl.function
    def main(self, x: pl.Tensor[[64, 64], pl.FP16], w: pl.Tensor[[64, 64], pl.FP16],
             out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP):
            y = pl.matmul(x, w, out_dtype=pl.FP32)
            for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
                h = pl.aiv_shard(y)
                out = pl.assemble(out, pl.exp(h), [lane * 32, 0])
        return out
"""


def test_a_kernel_with_regions_of_its_own_is_tried_as_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "region.py"
    path.write_text(REGION)
    _, out = run(capsys, str(path), "--no-cache", "--depths", "1,2", "--format", "json")
    facts = json.loads(out)
    assert {row["mode"] for row in facts["ranked"]} == {"as written"} and len(facts["ranked"]) == 2
    compiled = compile_program(language.parse(REGION, "k.py"), keep_stages=True)
    (row,) = what_if(compiled, timed(compiled), Judge(), 0)
    assert row["chosen"] and {cell["depth"] for cell in row["cells"]} == {1, 2, 4, 8}


def test_without_dask_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(workers, "import_module", missing)
    words = [str(EXAMPLES / "lora.py"), "--no-cache", "--depths", "2", "--scheduler", "tcp://127.0.0.1:1"]
    assert run_command("tune", words) == 2
    assert "cubelane[cluster]" in capsys.readouterr().err


def test_stages_are_tried_where_a_loop_is_pipelined():
    assert {v.stages for v in variants(example("pipelined_linear")[0].source)} == {1, 2, 3, 4}
    assert {v.stages for v in variants(example("lora")[0].source)} == {None}


def test_ranking_prefers_the_fast_then_the_shallow():
    def outcome(depth: int, cycles: int | None, verdict: str = "equal") -> Outcome:
        return Outcome("none", depth, None, cycles, None, None, verdict)

    order = ranked([outcome(8, 5), outcome(1, None, "deadlock"), outcome(2, 5), outcome(4, 3)])
    assert [o.depth for o in order] == [4, 2, 8, 1]


def test_wrong_command_lines(capsys: pytest.CaptureFixture[str]):
    assert run_command("tune", [str(EXAMPLES / "lora.py"), "--depths", "two"]) == 2
    assert run_command("tune", [str(EXAMPLES / "lora.py"), "--depths", "0"]) == 2


def test_runs_on_a_cluster(capsys: pytest.CaptureFixture[str]):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        words = (str(EXAMPLES / "lora.py"), "--no-cache", "--depths", "2", "--scheduler", cluster.scheduler_address)
        code, out = run(capsys, *words)
    assert code == 0 and "best: " in out
