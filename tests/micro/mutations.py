"""Removes the synchronization ops of a kernel one at a time and looks at what the machine says.

python -m tests.micro.mutations            all examples, a table
"""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from cubelane.check.faults.pto_rules import channel, is_sync
from cubelane.ir.diagnostic import Location
from cubelane.ptodsl.jit import clone_module
from cubelane.sim.micro.launch import launch_split, split

from .redundancy import Build, prove

EXAMPLES = Path(__file__).parents[2] / "examples" / "ptodsl"


def example(name: str) -> ModuleType:
    """An example file as a module."""
    spec = importlib.util.spec_from_file_location(f"ptodsl_example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def names() -> list[str]:
    """All examples."""
    return sorted(path.stem for path in EXAMPLES.glob("*.py"))


def sync_ops(module: ModuleOp) -> list[Operation]:
    """The synchronization ops of a split module."""
    return [op for op in module.walk() if is_sync(op)]


TRIPS = {"flash_attention": ("T", 64), "int8_gemm": ("K", 64)}
"""The argument that says how often the loop of a kernel turns, and by how much it grows with each trip."""


@dataclass
class Score:
    """How many removals were tried and reported; those that were not, each by number."""

    tried: int = 0
    caught: int = 0
    missed: dict[int, str] = field(default_factory=dict[int, str])


def mutants(module: ModuleOp) -> Iterator[tuple[Operation, ModuleOp]]:
    """Each synchronization op with the module that lacks it."""
    for number, op in enumerate(sync_ops(module)):
        mutant = clone_module(module)
        sync_ops(mutant)[number].detach()
        yield op, mutant


def pair_mutants(module: ModuleOp) -> Iterator[tuple[Operation, ModuleOp]]:
    """Each flag removed altogether, with its sets and its waits: nothing is out of balance, only the order is lost."""
    ops = sync_ops(module)
    for key in dict.fromkeys(map(channel, ops)):
        mutant = clone_module(module)
        doomed = [op for op, old in zip(sync_ops(mutant), ops, strict=True) if channel(old) == key]
        for op in doomed:
            op.detach()
        yield next(op for op in ops if channel(op) == key), mutant


def score(name: str, ways: Callable[[ModuleOp], Iterator[tuple[Operation, ModuleOp]]] = mutants) -> Score:
    """Tries all removals of one example."""
    file, result = example(name), Score()
    module = split(file.KERNEL.compile().mlir_module())
    for number, (op, mutant) in enumerate(ways(module)):
        given = file.inputs()
        expected = file.golden(given)
        findings = launch_split(mutant, None, list(given.values())).findings
        wrong = any(not np.allclose(given[k], v, file.RTOL, file.ATOL, equal_nan=True) for k, v in expected.items())
        result.tried += 1
        if findings or wrong:
            result.caught += 1
        else:
            result.missed[number] = f"{op.name} at {Location.of(op)}"
    return result


def with_trips(name: str, number: int | None) -> Build:
    """An example of any number of trips, without the flag of a number (as `pair_mutants` counts them)."""
    file, (parameter, unit) = example(name), TRIPS[name]

    def build(trips: int) -> tuple[ModuleOp, list[Any]]:
        sizes = {parameter: trips * unit}
        module = split(file.KERNEL.compile(**sizes).mlir_module())
        if number is not None:
            module = next(islice(pair_mutants(module), number, None))[1]
        return module, list(file.inputs(**sizes).values())

    return build


def proven(name: str, found: Score) -> int:
    """How many of the flags that were not missed are proven to be redundant, for every number of trips."""
    for number in found.missed:
        prove(with_trips(name, number))
    return len(found.missed)


if __name__ == "__main__":
    for one in names():
        single, whole = score(one, mutants), score(one, pair_mutants)
        print(f"{one}, single ops: {single.caught} caught / {single.tried} tried")
        print(
            f"{one}, whole flags: {whole.caught} caught / {whole.tried} tried / {proven(one, whole)} proven redundant"
        )
        for text in (*single.missed.values(), *whole.missed.values()):
            print(f"   not reported: {text}")
