"""Who catches a seeded fault in a PTO program: its verifiers, the machine while it runs, the comparison."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from cubelane.check.compare import compare
from cubelane.check.faults.engine import Rule, apply_rules
from cubelane.check.faults.kills import Kills
from cubelane.check.micro import read_micro
from cubelane.ir.pto.text import verify_pto
from cubelane.ptodsl.jit import clone_module
from cubelane.sim.micro.launch import launch_split, split

PTO_CHECKERS = ("verifier", "run", "comparison")
"""`run` is what the machine finds: unordered accesses, waits without end, flags left over, accesses out of bounds."""


def pto_kills(path: Path, rules: Sequence[Rule]) -> Kills:
    """Tries all mutants of the kernel of a file."""
    program = read_micro(path, None)
    judge = program.judge
    assert judge.inputs is not None and judge.golden is not None
    given = judge.inputs()
    expected = judge.golden({k: v.copy() if isinstance(v, np.ndarray) else v for k, v in given.items()})
    module = split(clone_module(program.module))
    result = Kills()
    for rule in rules:
        for fault in apply_rules(module, [rule], clone_module):
            found = ["verifier"] if _raises(fault.module) else []
            arrays: dict[str, Any] = judge.inputs()
            try:
                findings = launch_split(fault.module, program.name, list(arrays.values())).findings
            except Exception:
                result.count(rule, [*found, "run"], path.stem, fault)
                continue
            found += ["run"] if findings else []
            equal = compare(arrays, expected, rtol=judge.rtol, atol=judge.atol).equal
            result.count(rule, found if equal else [*found, "comparison"], path.stem, fault)
    return result


def _raises(module: ModuleOp) -> bool:
    try:
        verify_pto(module)
    except Exception:
        return True
    return False
