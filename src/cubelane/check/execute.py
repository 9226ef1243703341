"""One call to run a program: the final one on the simulated core group, the first one by the oracle."""

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from cubelane.check.arrays import Signature, draw, parameter_names, written_parameters
from cubelane.check.reference import run_reference
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.sim.group import Schedule, Suspect
from cubelane.sim.machine import Executable, Machine, Stopped, entry_functions
from cubelane.sim.primitives import Poison
from cubelane.sim.result import Event, RunResult

__all__ = ["Event", "Executable", "RunResult", "Schedule", "draw_inputs", "run_group", "run_reference"]

_SIGNATURES: WeakKeyDictionary[Executable, dict[str | None, list[Signature]]] = WeakKeyDictionary()

_SECOND = (17.0, 37)
"""What undefined cells hold in the second run: any value but that of the first."""


def draw_inputs(module: ModuleOp, seed: int = 0, entry: str | None = None) -> dict[str, Any]:
    """Inputs from the parameter types of the entry; see `arrays.draw`."""
    result: dict[str, Any] = {}
    for function in entry_functions(module, entry):
        result |= draw(function, seed)
    return result


def run_group(
    program: ModuleOp | Executable,
    inputs: Mapping[str, Any],
    target: str | None = None,
    *,
    schedule: Schedule | None = None,
    entry: str | None = None,
) -> RunResult:
    """Runs the final program; what is wrong with the kernel is in the findings. `inputs` are not changed.

    Lanes that do the same run side by side; if anything is found, they run again one by one, and that run is reported.
    When a store wrote what may stem from undefined cells, the program runs a second time with other values in
    them: a difference is a finding. An `Executable` saves emitting the program again. Raises a Diagnostic for inputs
    that do not fit, or a program with no executable form.
    """
    executable = program if isinstance(program, Executable) else Executable(program)
    schedule = schedule or Schedule()
    if schedule.seed is None and executable.pairs:
        result = _run_checked(executable, inputs, schedule, entry, paired=True)
        if result.ok and not result.notes:
            return result
    return _run_checked(executable, inputs, schedule, entry, paired=False)


def _run_checked(
    executable: Executable, inputs: Mapping[str, Any], schedule: Schedule, entry: str | None, paired: bool
) -> RunResult:
    """One run, and a second one where undefined cells may have been stored."""
    signatures = _signatures(executable, entry)
    poison = Poison()
    result, suspects, machine = _run_once(executable, signatures, inputs, schedule, poison, paired)
    if result.ok and (suspects or poison.used):
        second, _, _ = _run_once(executable, signatures, inputs, schedule, Poison(*_SECOND), paired)
        result.findings += _leaks(result, second, suspects, machine)
    return result


def _signatures(executable: Executable, entry: str | None) -> list[Signature]:
    """The signatures of the functions the program starts with, kept with it."""
    known = _SIGNATURES.setdefault(executable, {})
    if entry not in known:
        functions = executable.entry(entry)
        written = {parameter_names(f)[i] for f in functions for i in executable.writes[f.sym_name.data]}
        written |= {name for f in functions for name in written_parameters(f)}
        known[entry] = [Signature(f, written) for f in functions]
    return known[entry]


def _run_once(
    executable: Executable,
    signatures: list[Signature],
    inputs: Mapping[str, Any],
    schedule: Schedule,
    poison: Poison,
    paired: bool,
) -> tuple[RunResult, list[Suspect], Machine]:
    machine = Machine(executable, schedule, poison, paired)
    arguments: dict[str, Any] = {}
    for signature in signatures:
        arguments = {**signature.arguments(inputs), **arguments}
    for signature in signatures:
        for name in signature.undefined:
            machine.memory.declare_undefined(arguments[name])
    calls = [(s.function.sym_name.data, [arguments[n] for n in s.names]) for s in signatures]
    returned: Any = None
    try:
        if len(calls) == 1:
            returned = machine.call(*calls[0])
        else:
            returned = machine.together(*calls)[-1]
    except Stopped:
        pass
    except Diagnostic as problem:
        machine.findings.append(problem)
    machine.close()
    outputs = {n: arguments[n] for s in signatures for n in s.outputs}

    def writer(name: str, position: Sequence[int]) -> tuple[str, Location]:
        agent, line = machine.last_writer(outputs[name], position)
        return agent, line.location

    result = RunResult(outputs, returned, machine.findings, machine.notes, machine.events, writer)
    return result, machine.suspects, machine


def _leaks(first: RunResult, second: RunResult, suspects: list[Suspect], machine: Machine) -> list[Diagnostic]:
    """Elements that depend on what undefined cells happened to hold."""
    found: list[Diagnostic] = []
    for name, array in first.outputs.items():
        other = second.outputs[name]
        changed = (array != other) & ~((array != array) & (other != other))
        if not changed.any():
            continue
        place = tuple(int(i) for i in np.argwhere(changed)[0])
        suspect = next((s for s in suspects if s.tensor is array and changed[s.index][s.cells].any()), None)
        where = machine.last_store(array, place) if suspect is None else suspect.line
        who = f"{suspect.agent}: " if suspect else ""
        found.append(
            Diagnostic(
                f"{who}an undefined cell was stored: {name}{list(place)} has no value of its own",
                where.location,
                (f"{int(changed.sum())} elements of {name} depend on what cells outside the valid extent hold",),
                code="poison",
            )
        )
    if not found and second.findings:
        found = second.findings
    return found
