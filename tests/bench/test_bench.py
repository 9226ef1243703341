"""`make bench`: a ratio that is worse than the stored one fails, and only that."""

import json
import math
import sys
from types import ModuleType

import pytest

from benchmarks import __main__ as bench
from benchmarks import baseline
from benchmarks.baseline import Baseline, judged


def words(stored, read, tolerance=0.3):
    return {v.name: v.word for v in judged(stored, read, tolerance)}


def test_worse_is_beyond_the_tolerance_only():
    stored = {"a: x": 2.0, "a: y": 1.0, "b: not run": 1.0}
    assert words(stored, {"a: x": 2.6, "a: y": 1.31, "a: z": 9.0}) == {"a: x": "good", "a: y": "worse", "a: z": "new"}
    assert words(stored, {"a: x": 2.1}, 0.0) == {"a: x": "worse"}
    assert words(stored, {"a: x": 0.1}) == {"a: x": "good"}
    assert words(stored, {"a: x": math.nan}) == {"a: x": "worse"}


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """One benchmark that reads what the test says."""
    module = ModuleType("benchmarks.fake")
    module.reads = []
    module.main = lambda: {"ratio": module.reads.pop(0)}
    monkeypatch.setitem(sys.modules, "benchmarks.fake", module)
    monkeypatch.setattr(bench, "NAMES", {"fake": "a fake"})
    path = tmp_path / "baseline.json"
    monkeypatch.setattr(baseline.Baseline.read, "__defaults__", (path,))
    monkeypatch.setattr(baseline.Baseline.write, "__defaults__", (path,))
    return module


def test_ratios_are_stored_and_compared(fake, capsys):
    fake.reads = [1.0, 1.2, 2.0, 1.9, 2.0, 1.1]
    assert bench.main(["--save"]) == 0 and Baseline.read().ratios == {"fake: ratio": 1.0}
    assert bench.main([]) == 0
    assert bench.main(["fake"]) == 1  # read twice, both times worse
    assert "worse" in capsys.readouterr().out
    assert bench.main(["--json"]) == 0  # the second reading is good: other work was in the way
    facts = json.loads(capsys.readouterr().out)
    assert facts["ratios"] == {"fake: ratio": 1.1} and facts["worse"] == [] and "Python" in facts["machine"]


def test_saving_keeps_what_was_not_run(fake):
    Baseline.now({"other: ratio": 3.0}).write()
    fake.reads = [1.0]
    assert bench.main(["fake", "--save"]) == 0
    assert Baseline.read().ratios == {"fake: ratio": 1.0, "other: ratio": 3.0}


@pytest.mark.parametrize("words", [["--help"], ["no_such"], ["--tolerance", "much"]])
def test_the_command_line_tells_what_is_wrong(words, capsys):
    with pytest.raises(SystemExit) as left:
        bench.main(words)
    assert left.value.code == (0 if words == ["--help"] else 2)
    assert "Traceback" not in capsys.readouterr().err


def test_the_list_names_every_benchmark(capsys):
    assert bench.main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(bench.NAMES)


def test_the_stored_file_is_of_these_benchmarks():
    stored = Baseline.read()
    assert stored.ratios and {name.partition(":")[0] for name in stored.ratios} == set(bench.NAMES)
    assert stored.machine != "no machine" and len(stored.date) == 10
