"""What a run of the core group tells."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cubelane.ir.diagnostic import Diagnostic, Location


@dataclass(frozen=True)
class Event:
    """One step on a ring or in global memory: what happened when, in the order of the simulation.

    `kind` is push, pop, free, wait, load, store, begin or end; `step` counts all events of the run.
    """

    step: int
    agent: str
    kind: str
    detail: str
    slot: int | None
    location: Location


def _nobody(name: str, position: Sequence[int]) -> tuple[str, Location]:
    return "", Location()


@dataclass
class RunResult:
    """Outputs and findings of one run.

    `outputs` holds every Out and InOut parameter by name, `returned` what the entry returned, `findings` what is
    wrong (`code` is deadlock, race, poison, protocol, leftover, out-of-bounds, slot-size or execution), `notes`
    what is odd but harmless.
    """

    outputs: dict[str, Any] = field(default_factory=dict[str, Any])
    returned: Any = None
    findings: list[Diagnostic] = field(default_factory=list[Diagnostic])
    notes: list[Diagnostic] = field(default_factory=list[Diagnostic])
    log: Callable[[], Sequence[Event]] = tuple
    writer: Callable[[str, Sequence[int]], tuple[str, Location]] = _nobody
    """Who wrote an element of an output last (output, index): the agent and the place of its store."""

    @property
    def events(self) -> Sequence[Event]:
        """The protocol log: what happened on the rings and in global memory, in the order of the simulation."""
        return self.log()

    @property
    def ok(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.findings

    def kinds(self) -> list[str]:
        """The kinds of the findings, in order."""
        return [f.code for f in self.findings]
