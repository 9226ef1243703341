"""Reading a user's text file: regular, not too large, UTF-8, with or without a byte order mark."""

from pathlib import Path

from cubelane.ir.diagnostic import Diagnostic, Location

LIMIT = 16 << 20
"""Bytes of the largest text that is read. Kernels have kilobytes; what is larger is not one."""


def read_text(path: Path) -> str:
    """The text of a file. Raises OSError where it cannot be read, a Diagnostic where it is no text of a kernel."""
    if path.exists() and not path.is_file():
        raise Diagnostic("it is no regular file", Location(str(path)), code="not-a-file")
    size = path.stat().st_size
    if size > LIMIT:
        raise Diagnostic(
            f"the file has {size:,} bytes; texts of at most {LIMIT:,} are read", Location(str(path)), code="too-large"
        )
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as problem:
        raise Diagnostic(
            f"the file is not UTF-8 text ({problem.reason} at byte {problem.start})",
            Location(str(path)),
            code="encoding",
        ) from None
