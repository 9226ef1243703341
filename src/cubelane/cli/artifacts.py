"""Writing what a command made: each file under a temporary name first, then moved into place."""

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Writes a file so that a reader sees the old content or the new, never a part. Raises OSError.

    A symbolic link to a file is replaced, what it leads to stays. A character device (`/dev/stdout`, `/dev/null`) is
    written to; what else is no regular file is left alone.
    """
    kind = _kind(path)
    if kind is not None and stat.S_ISCHR(kind):
        with path.open("w", encoding="utf-8", newline="\n") as device:
            device.write(text)
        return
    if kind is not None and not stat.S_ISREG(kind):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    _replace(path, text)


def _kind(path: Path) -> int | None:
    """What stands at a path, links followed; None where nothing does."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
