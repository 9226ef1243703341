"""Removes the synchronization ops of a kernel one at a time and looks at what the machine says.

python -m tests.micro.mutations            all examples, a table
"""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from cubelane.check.faults.pto_rules import channel, is_sync
from cubelane.ir.diagnostic import Location
from cubelane.ptodsl.jit import clone_module
from cubelane.sim.micro.launch import launch_split, split

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


@dataclass
class Score:
    """How many removals were tried and reported; those that were not."""

    tried: int = 0
    caught: int = 0
    missed: list[str] = field(default_factory=list[str])


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
    for op, mutant in ways(module):
        given = file.inputs()
        expected = file.golden(given)
        findings = launch_split(mutant, None, list(given.values())).findings
        wrong = any(not np.allclose(given[k], v, file.RTOL, file.ATOL, equal_nan=True) for k, v in expected.items())
        result.tried += 1
        if findings or wrong:
            result.caught += 1
        else:
            result.missed.append(f"{op.name} at {Location.of(op)}")
    return result


if __name__ == "__main__":
    for one in names():
        for way, ways in (("single ops", mutants), ("whole flags", pair_mutants)):
            found = score(one, ways)
            print(f"{one}, {way}: {found.caught} / {found.tried}")
            for text in found.missed:
                print(f"   not reported: {text}")
