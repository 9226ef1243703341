"""The compile cache: right or absent, whatever becomes of its folder."""

import errno
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, FloatAttr, ModuleOp

import cubelane as cl
import cubelane.language as pl
from cubelane import language
from cubelane.check import cache, compile_once
from cubelane.check.cache import Cache, folder
from cubelane.check.compile_once import cached_compile, forget, key_of
from cubelane.check.compiled import compile_program
from cubelane.cli.main import run_command
from cubelane.ir.stored import as_stored, from_stored

TEXT = """import cubelane.language as pl

SIZE = {size}

@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(self, a: pl.Tensor[[16, 16], pl.FP16], y: pl.Out[pl.Tensor[[16, 16], pl.FP32]]) -> pl.Tensor[[16, 16], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            y = pl.assemble(y, pl.mul(pl.matmul(a, a, out_dtype=pl.FP32), SIZE), [0, 0])
        return y
"""  # noqa: E501
FLASH = Path(__file__).parents[2] / "examples" / "flash_attention.py"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of its own, and a process that remembers nothing."""
    where = tmp_path / "kept"
    monkeypatch.setenv("CUBELANE_CACHE", str(where))
    forget()
    return where


def broken(*arguments, **options):
    raise AssertionError("it was compiled again")


def program(size: float = 0.5, name: str = "k.py"):
    return language.parse(TEXT.format(size=size), name)


def entry_of(where: Path) -> Path:
    (path,) = where.glob("*.entry")
    return path


def test_a_second_process_reads_the_same_programs(place, monkeypatch):
    first = cached_compile(program())
    forget()
    monkeypatch.setattr(compile_once, "compile_program", broken)
    second = cached_compile(program())
    assert second is not first and str(second.module) == str(first.module) and str(second.source) == str(first.source)
    assert [op.location for op in second.module.walk()] == [op.location for op in first.module.walk()]
    assert second.judge().equal


def test_one_process_shares_it_within_a_millisecond(place):
    flash = language.loads(FLASH)
    first = cached_compile(flash)
    spent = []
    for _ in range(20):
        start = time.process_time()
        assert cached_compile(flash) is first
        spent.append(time.process_time() - start)
    assert min(spent) < 1e-3


# --- what the key depends on ---------------------------------------------------------------------------------------


def test_everything_the_result_depends_on_is_in_the_key(monkeypatch):
    first = key_of(program(), "a2a3", None)
    assert first == key_of(program(), "a2a3", None)
    others = [
        key_of(program(0.25), "a2a3", None),
        key_of(program(), "a5", None),
        key_of(program(), "a2a3", "none"),
        key_of(program(name="other.py"), "a2a3", None),
        key_of(language.parse("\n" + TEXT.format(size=0.5), "k.py"), "a2a3", None),
    ]
    monkeypatch.setattr(compile_once, "versions", lambda: "another version")
    others.append(key_of(program(), "a2a3", None))
    assert len({first, *others}) == 7


def test_a_changed_file_of_the_package_changes_the_versions(tmp_path, monkeypatch):
    fresh = compile_once.versions.__wrapped__
    (tmp_path / "check").mkdir()
    module = tmp_path / "check" / "x.py"
    module.write_text("a = 1")
    monkeypatch.setattr(compile_once, "__file__", str(module))
    before = fresh()
    module.write_text("a = 12")
    assert fresh() != before and f"python {sys.version}" in before and "xdsl 0." in before


def test_a_constant_of_another_module_is_in_the_key(place, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    text = TEXT.replace("SIZE = {size}", "from numbers_of_mine import SIZE").replace("pl.program", "pl.program()")
    (tmp_path / "numbers_of_mine.py").write_text("SIZE = 0.5")
    keys = set()
    for size in (0.5, 0.25):
        (tmp_path / "numbers_of_mine.py").write_text(f"SIZE = {size}  # {'x' * int(8 * size)}")
        (tmp_path / "kernel_of_mine.py").write_text(text)
        for name in ("numbers_of_mine", "kernel_of_mine"):
            sys.modules.pop(name, None)
        kernel = __import__("kernel_of_mine").Prog
        keys.add(key_of(getattr(kernel, "program", kernel), "a2a3", None))
    assert len(keys) == 2


def test_a_closure_of_a_jit_kernel_is_in_the_key(place):
    import numpy as np

    def made(factor):
        @pl.jit
        def scaled(a, y: pl.Out):
            with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
                y[:] = pl.mul(pl.matmul(a, a, out_dtype=pl.FP32), factor)
            return y

        return scaled

    for factor in (2.0, 3.0, 2.0):
        y = np.zeros((16, 16), np.float32)
        made(factor)(np.eye(16, dtype=np.float16), y)
        assert (y == factor * np.eye(16)).all()
    assert len(list(place.glob("*.entry"))) == 2


# --- the folder ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-10]),
        lambda path: path.write_bytes(path.read_bytes().replace(b"kernel.target", b"kernel.tarjet", 1)),
        lambda path: path.write_bytes(b"\xff\0 foreign \n" + path.read_bytes()),
        lambda path: path.write_bytes(b"cubelane-cache 2" + path.read_bytes()[16:]),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.unlink(), path.symlink_to(path)),
        lambda path: path.chmod(0o666),
    ],
    ids=["empty", "cut", "changed", "foreign", "other format", "folder", "loop", "writable by others"],
)
def test_what_is_no_whole_entry_is_ignored(damage, place, monkeypatch):
    wanted = str(cached_compile(program()).module)
    damage(entry_of(place))
    forget()
    assert str(cached_compile(program()).module) == wanted


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"attributes": [], "places": [], "program": 5}'])
def test_a_digest_that_fits_a_text_that_is_no_program(text, place, monkeypatch):
    Cache(place).put(key_of(program(), "a2a3", None), text)
    assert cached_compile(program()).judge().equal


def test_the_entry_of_another_kernel_does_not_fit(place):
    kept = Cache(place)
    kept.put("a" * 64, "text")
    (place / f"{'a' * 64}.entry").rename(place / f"{'b' * 64}.entry")
    assert kept.get("b" * 64) is None and kept.get("a" * 64) is None


def test_what_was_not_used_for_longest_goes_first(tmp_path):
    kept = Cache(tmp_path / "c", limit=3500)
    for n in range(3):
        kept.put(f"k{n}", "x" * 1000)
        os.utime(tmp_path / "c" / f"k{n}.entry", (n, n))
    assert kept.get("k0") is not None  # used now
    kept.put("k3", "x" * 1000)
    assert [n for n in range(4) if kept.get(f"k{n}")] == [0, 2, 3]
    assert kept.usage().size <= 3500
    kept.put("large", "x" * 4000)
    assert kept.get("large") is None and kept.usage().entries == 3


def test_a_folder_that_cannot_be_written_to_costs_nothing_else(tmp_path, monkeypatch):
    where = tmp_path / "kept"
    where.write_text("a file")
    monkeypatch.setenv("CUBELANE_CACHE", str(where))
    forget()
    assert cached_compile(program()).judge().equal
    assert where.read_text() == "a file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_costs_nothing_else(place):
    place.mkdir()
    place.chmod(0o500)
    assert cached_compile(program()).judge().equal
    place.chmod(0o700)
    assert not list(place.iterdir())


def test_a_full_disk_leaves_no_part_of_an_entry(place, monkeypatch):
    def full(handle, mode):
        os.close(handle)
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(cache.os, "fdopen", full)
    assert cached_compile(program()).judge().equal
    assert not list(place.iterdir())


def test_an_interrupt_while_writing_leaves_nothing(place, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(cache.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cached_compile(program())
    assert not list(place.iterdir())


def test_an_entry_is_the_users_alone(place):
    cached_compile(program())
    assert stat.S_IMODE(entry_of(place).stat().st_mode) == 0o600
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


WORKER = """
import sys
from cubelane import language
from cubelane.check.cache import Cache
from cubelane.check import compile_once
kept = Cache(__import__("pathlib").Path(sys.argv[1]), 60_000)
texts = {f"k{n}": f"{n} " * (500 + n) for n in range(40)}
for turn in range(15):
    for key, text in texts.items():
        got = kept.get(key)
        assert got in (None, text), key
        kept.put(key, text)
        if turn % 7 == 6:
            kept.clear()
print("good")
"""


def test_processes_share_a_folder(tmp_path):
    command = [sys.executable, "-c", WORKER, str(tmp_path / "c")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate(timeout=120) for process in running]
    assert [out for out, _ in said] == ["good\n"] * 4, said
    left = [path.name for path in (tmp_path / "c").iterdir()]
    assert all(name.endswith(".entry") for name in left)
    assert Cache(tmp_path / "c").usage().size <= 80_000


# --- where it is used ----------------------------------------------------------------------------------------------


def test_the_environment_says_where(monkeypatch, tmp_path):
    monkeypatch.delenv("CUBELANE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert folder() == tmp_path / "cubelane"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert folder() == tmp_path / "home" / ".cache" / "cubelane"
    monkeypatch.setenv("CUBELANE_CACHE", str(tmp_path / "mine"))
    assert folder() == tmp_path / "mine"
    monkeypatch.setenv("CUBELANE_CACHE", "off")
    assert folder() is None


def test_compile_uses_it_unless_told_otherwise(place, tmp_path, capsys):
    path = tmp_path / "k.py"
    path.write_text(TEXT.format(size=0.5))
    assert run_command("compile", ["--no-timing", "--no-cache", str(path)]) == 0
    first = capsys.readouterr().out
    assert not place.exists()
    for _ in range(2):
        assert run_command("compile", ["--no-timing", str(path)]) == 0
        assert capsys.readouterr().out == first
    assert entry_of(place)
    assert cl.compile(str(path)) is cl.compile(path)
    assert cl.compile(str(path), keep_stages=True).stages


def test_the_command_shows_and_empties_it(place, capsys, monkeypatch):
    cached_compile(program())
    assert run_command("cache", []) == 0
    assert f"folder   {place}" in capsys.readouterr().out
    assert run_command("cache", ["--clear", "--format", "json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["removed"], facts["entries"], facts["bytes"]) == (1, 0, 0)
    monkeypatch.setenv("CUBELANE_CACHE", "off")
    assert run_command("cache", ["--clear"]) == 0
    assert "switched off" in capsys.readouterr().out


def test_a_refusal_is_told_every_time(place):
    reduced = TEXT.format(size=0.5).replace(", SIZE)", ", pl.col_max(pl.slice(a, [16, 16], [0, 0])))")
    bad = language.parse(reduced.replace("pl.mul(", "pl.col_expand_mul("))
    for _ in range(2):
        with pytest.raises(cl.Diagnostic):
            cached_compile(bad)


def test_stored_programs_come_back_for_every_example():
    for path in sorted(FLASH.parent.glob("*.py"))[::4]:
        module = compile_program(language.loads(path), "a5").module
        again = from_stored(as_stored(module))
        assert str(again) == str(module) and as_stored(again) == as_stored(module)
        assert [op.location for op in again.walk()] == [op.location for op in module.walk()]


NUMBERS = (0.0, -0.0, 0.1, 1e-45, 3.4028234663852886e38, 1e30, 65504.0, -1.5, float("inf"), float("-inf"))


@pytest.mark.parametrize("kind", [BFloat16Type(), Float16Type(), Float32Type(), Float64Type()], ids=str)
def test_numbers_are_stored_to_the_last_bit(kind):
    constants = [arith.ConstantOp(FloatAttr(number, kind)) for number in NUMBERS]
    again = from_stored(as_stored(ModuleOp(constants)))
    values = [op.value.value.data for op in again.body.block.ops]
    wanted = [op.value.value.data for op in constants]
    assert [repr(v) for v in values] == [repr(w) for w in wanted]
