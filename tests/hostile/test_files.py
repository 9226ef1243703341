"""Files that cannot be read or written: a clear word, the right exit code, no part of a file anywhere."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cubelane.cli import artifacts
from cubelane.cli.main import run_command
from cubelane.ir import text_file

from .texts import kernel

GOOD = kernel("t = pl.tile.load(x, [0, 0], [8, 8])\ny = pl.tile.store(t, [0, 0], y)")
PTO = "module {\n}\n"


def leftovers(folder: Path) -> list[Path]:
    """Files under a temporary name."""
    return [p for p in folder.rglob("*") if p.name.endswith(".tmp")]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.py"
    path.write_text(GOOD, encoding="utf-8")
    return path


COMMANDS = (["lower"], ["emit", "--as", "numpy"], ["check"], ["compile", "--no-timing"], ["fuzz"])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
@pytest.mark.parametrize(
    ("content", "word"),
    [
        (GOOD.encode("utf-16"), "UTF-8"),
        (b"x = '\xff'\n" + GOOD.encode(), "UTF-8"),
        (GOOD.encode() + b"\0", "null"),
        (b"", "kernel"),
        (b"\x7fELF\x02\x01\x01" + bytes(range(256)), "UTF-8"),
    ],
    ids=["utf-16", "latin-1", "nul", "empty", "binary"],
)
def test_files_that_are_no_kernel(command, content, word, tmp_path, capsys):
    path = tmp_path / "kernel.py"
    path.write_bytes(content)
    assert (
        run_command(command[0], [*command[1:], str(path)]) in (0, 1)
        if command[0] == "fuzz"
        else (run_command(command[0], [*command[1:], str(path)]) == 1)
    )
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert command[0] == "fuzz" or word in said.err


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + GOOD.encode(), GOOD.replace("\n", "\r\n").encode()])
def test_byte_order_marks_and_crlf_are_read(content, tmp_path):
    path = tmp_path / "kernel.py"
    path.write_bytes(content)
    assert run_command("lower", [str(path)]) == 0


@pytest.mark.parametrize("name", ["kernel.py", "kernel.pto"])
def test_a_file_of_a_hundred_megabytes_is_refused_at_once(name, tmp_path, capsys):
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(100_000_000)
    start = time.perf_counter()
    assert run_command("compile", [str(path)]) == 1
    assert time.perf_counter() - start < 2
    assert "100,000,000 bytes" in capsys.readouterr().err


def test_the_largest_text_is_told(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(GOOD + "#" * (text_file.LIMIT - len(GOOD)), encoding="utf-8")
    assert text_file.read_text(path)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/", "."])
def test_what_is_no_file_is_not_read(path, capsys):
    assert run_command("lower", [path]) in (1, 2)
    assert "no regular file" in capsys.readouterr().err


def test_a_pipe_without_a_writer_is_not_waited_for(tmp_path, capsys):
    pipe = tmp_path / "kernel.py"
    os.mkfifo(pipe)
    assert run_command("lower", [str(pipe)]) == 1
    assert "no regular file" in capsys.readouterr().err


def test_missing_files_and_folders_are_told(tmp_path, capsys, good):
    assert run_command("compile", [str(tmp_path / "none.py")]) == 2
    assert run_command("compile", ["--no-timing", "-o", str(good / "out"), str(good)]) == 2
    said = capsys.readouterr().err
    assert "No such file" in said and "Not a directory" in said


# --- writing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_disk_that_takes_no_more_leaves_the_old_file(code, tmp_path, monkeypatch, capsys, good):
    out = tmp_path / "page.html"
    out.write_text("before")

    def full(*arguments, **options):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(artifacts.os, "replace", full)
    assert run_command("compile", ["--no-timing", "--report", str(out), str(good)]) == 2
    assert os.strerror(code) in capsys.readouterr().err
    assert out.read_text() == "before" and not leftovers(tmp_path)


def test_a_write_that_stops_half_way_leaves_nothing(tmp_path, monkeypatch):
    class Half:
        def __init__(self, handle, *arguments, **options):
            self.handle = handle

        def __enter__(self):
            return self

        def __exit__(self, *problem):
            os.close(self.handle)

        def write(self, text):
            os.write(self.handle, text[: len(text) // 2].encode())
            raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(artifacts.os, "fdopen", Half)
    with pytest.raises(OSError, match="no space"):
        artifacts.write_text(tmp_path / "a.txt", "something")
    assert list(tmp_path.iterdir()) == []


def test_a_full_device_is_told(good):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cubelane.cli.main", "lower", str(good)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2 and "No space" in done.stderr and "Traceback" not in done.stderr


def test_a_device_is_written_to_and_stays_one(good):
    assert run_command("compile", ["--no-timing", "--report", "/dev/null", str(good)]) == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path, good):
    outside, out = tmp_path / "precious", tmp_path / "out"
    outside.write_text("precious")
    out.mkdir()
    for name in ("summary.json", "00_source.py", "final.mlir"):
        (out / name).symlink_to(outside)
    assert run_command("compile", ["--no-timing", "-o", str(out), str(good)]) == 0
    assert outside.read_text() == "precious"
    assert not (out / "summary.json").is_symlink() and not leftovers(tmp_path)


def test_nothing_is_written_outside_the_output_folder(tmp_path, monkeypatch, good):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    before = {p for p in tmp_path.rglob("*")}
    assert run_command("compile", ["--no-timing", "-o", str(tmp_path / "out"), str(good)]) == 0
    new = {p for p in tmp_path.rglob("*")} - before
    allowed = (tmp_path / "out", tmp_path / "__pycache__")
    assert new and all(any(p == a or a in p.parents for a in allowed) for p in new)


# --- interrupts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_ends_with_130_and_whole_files(tmp_path, jobs):
    command = [sys.executable, "-m", "cubelane.cli.main", "fuzz", "--time", "100", "--jobs", jobs, "-o", str(tmp_path)]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    state = tmp_path / "seed-0.json"
    deadline = time.monotonic() + 90
    while not state.exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert state.exists()
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "interrupted" in said and "Traceback" not in said
    assert not leftovers(tmp_path)
    assert run_command("fuzz", ["--count", "1", "-o", str(tmp_path)]) in (0, 1)


def test_an_interrupt_while_writing_leaves_nothing(tmp_path, monkeypatch, good):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(artifacts.os, "replace", interrupted)
    assert run_command("compile", ["--no-timing", "-o", str(tmp_path / "out"), str(good)]) == 130
    assert not leftovers(tmp_path)
