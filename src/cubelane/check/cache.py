"""Texts by key in a folder of the user's: the disk side of the compile cache.

Entries appear whole or not at all, several processes may share a folder, and what is no entry of this user is ignored.
Nothing of an entry is executed; one that was changed does not fit its own digest. A folder that cannot be written to, a
full disk: then nothing is kept, and that is all.
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

VARIABLE = "CUBELANE_CACHE"
"""The environment variable that names the folder, or switches the cache off: `off`, `0` or `no`."""

LIMIT = 64 << 20
"""Bytes that a folder may hold; beyond, what was not used for longest goes."""

HEAD = "cubelane-cache 1"
SUFFIX = ".entry"


class Usage(NamedTuple):
    """What a folder holds."""

    entries: int
    size: int


def folder() -> Path | None:
    """The folder that the environment asks for; None where the cache is switched off or there is no home."""
    named = os.environ.get(VARIABLE, "")
    if named.lower() in ("off", "0", "no"):
        return None
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # the standard says to ignore any other
        return Path(base) / "cubelane"
    try:
        return Path.home() / ".cache" / "cubelane"
    except RuntimeError:
        return None


class Cache:
    """Texts by key in a folder of at most `limit` bytes. No method raises OSError."""

    def __init__(self, place: Path, limit: int = LIMIT):
        self.place, self.limit = place, limit

    def get(self, key: str) -> str | None:
        """The text of a key, which now counts as used last; None where there is none that is whole and the user's."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                if status.st_size > self.limit or not _is_mine(status):
                    return None
                head, _, body = file.read().partition(b"\n")
            if head.decode("ascii") != _head(key, body):
                return None
            text = body.decode("utf-8")
        except (OSError, ValueError):
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return text

    def put(self, key: str, text: str) -> None:
        """Keeps a text, and lets go of others where the folder grows too large."""
        body = text.encode("utf-8")
        content = _head(key, body).encode("ascii") + b"\n" + body
        if len(content) > self.limit:
            return
        with contextlib.suppress(OSError):
            self.place.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write(self._path(key), content)
            self._shrink()

    def usage(self) -> Usage:
        """How many entries there are and how large they are together."""
        sizes = [size for _, size, _ in self._entries()]
        return Usage(len(sizes), sum(sizes))

    def clear(self) -> int:
        """Removes all entries; how many there were."""
        gone = 0
        for _, _, path in self._entries():
            with contextlib.suppress(OSError):
                path.unlink()
                gone += 1
        return gone

    def _path(self, key: str) -> Path:
        return self.place / f"{key}{SUFFIX}"

    def _entries(self) -> Iterator[tuple[float, int, Path]]:
        """When each entry was used last, its size, its path; what others take away meanwhile is left out."""
        try:
            found = list(os.scandir(self.place))
        except OSError:
            return
        for entry in found:
            if entry.name.endswith(SUFFIX):
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    yield status.st_mtime, status.st_size, Path(entry.path)

    def _shrink(self) -> None:
        entries = sorted(self._entries())
        size = sum(bytes_ for _, bytes_, _ in entries)
        for _, bytes_, path in entries:
            if size <= self.limit:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            size -= bytes_


def _head(key: str, body: bytes) -> str:
    return f"{HEAD} {key} {hashlib.sha256(body).hexdigest()}"


def _is_mine(status: os.stat_result) -> bool:
    """Whether an entry belongs to the user and nobody else may write to it."""
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def _write(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")  # readable by the user only
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
