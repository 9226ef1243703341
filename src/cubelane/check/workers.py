"""Independent tasks on this process, on worker processes, or on a Dask cluster."""

import os
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import active_children
from threading import Thread
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_all(
    work: Callable[[Task], Result], tasks: Iterable[Task], jobs: int = 1, scheduler: str | None = None
) -> Iterator[tuple[Task, Result]]:
    """The results as they come. Tasks are drawn when there is room for them, so `tasks` may have no end.

    `scheduler` is the address of a Dask scheduler; its workers must see the same files. Raises ImportError where Dask
    is not installed.
    """
    if scheduler is None and jobs <= 1:
        for task in tasks:
            yield task, work(task)
        return
    with _pool(jobs, scheduler) as (pool, room):
        yield from _through(pool, room, work, iter(tasks))


def _through(
    pool: Executor, room: int, work: Callable[[Task], Result], tasks: Iterator[Task]
) -> Iterator[tuple[Task, Result]]:
    running: dict[Future[Result], Task] = {}
    try:
        while True:
            for task in tasks:
                running[pool.submit(work, task)] = task
                if len(running) >= room:
                    break
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()
    finally:
        for future in running:
            future.cancel()


@contextmanager
def _pool(jobs: int, scheduler: str | None) -> Generator[tuple[Executor, int]]:
    """Something that takes tasks, and how many it should have at a time."""
    if scheduler is None:
        count = min(jobs, os.cpu_count() or 1)
        with ProcessPoolExecutor(max_workers=count, initializer=_begin_worker, initargs=(os.getpid(),)) as pool:
            try:
                yield pool, 2 * count
            except BaseException:
                for child in active_children():  # nobody takes their results any more
                    child.terminate()
                raise
        return
    distributed: Any = import_module("distributed")
    with distributed.Client(scheduler) as client:
        cores = sum(client.nthreads().values()) or 1
        with client.get_executor(pure=False) as pool:
            yield pool, 2 * cores


def _begin_worker(parent: int) -> None:
    """Ctrl-C goes to all processes of a terminal, and the parent decides what to do; without it the worker ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """Ends this process when its parent is gone: nobody would take its results, and its queue never closes."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
