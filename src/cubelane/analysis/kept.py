"""Answers of analyses that outlive the pass that asked, as long as nothing changes the program.

Only `pipeline.run` opens the store: it knows which pass runs next, and empties it before every pass that does not
declare that it works on a program as the pass before it left it. A pass run by itself finds nothing kept and asks anew.
"""

from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from typing import Any, TypeVar

Answer = TypeVar("Answer")
_stores: list[dict[Hashable, Any]] = []
"""The stores of the pipelines that run, the innermost last."""


@contextmanager
def keeping() -> Generator[dict[Hashable, Any]]:
    """Opens a store, which the caller empties whenever the program may have changed."""
    store: dict[Hashable, Any] = {}
    _stores.append(store)
    try:
        yield store
    finally:
        _stores.pop()


def keep(key: Hashable, answer: object) -> None:
    """Keeps an answer about the program as it is now; without a store it is forgotten."""
    if _stores:
        _stores[-1][key] = answer


def kept(key: Hashable, ask: Callable[[], Answer]) -> Answer:
    """The answer that was kept, which is then given out no more; else a new one."""
    answer: Answer | None = _stores[-1].pop(key, None) if _stores else None
    return ask() if answer is None else answer
