"""The stored ratios, and whether new ones are worse.

Every figure is a ratio of two times read in turns in one run, or an exponent of growth, and smaller is better; so
figures of different machines can be compared, though not to the percent.
"""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

PATH = Path(__file__).parent / "baseline.json"

TOLERANCE = 0.3
"""How much larger than stored a ratio may be, as a share of it: one build differs by up to a quarter between runs."""


@dataclass(frozen=True)
class Baseline:
    """Ratios, and where and when they were read."""

    machine: str = "no machine"
    date: str = "no day"
    ratios: Mapping[str, float] = field(default_factory=dict[str, float])

    @staticmethod
    def read(path: Path = PATH) -> "Baseline":
        """The stored ratios; none where no file is."""
        if not path.exists():
            return Baseline()
        facts = json.loads(path.read_text(encoding="utf-8"))
        return Baseline(facts["machine"], facts["date"], facts["ratios"])

    @staticmethod
    def now(ratios: Mapping[str, float]) -> "Baseline":
        """Ratios read on this machine today."""
        return Baseline(machine(), date.today().isoformat(), dict(sorted(ratios.items())))

    def write(self, path: Path = PATH) -> None:
        """Stores the ratios."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Judgement:
    """One ratio beside the stored one; None where none is stored."""

    name: str
    read: float
    stored: float | None
    worse: bool

    @property
    def benchmark(self) -> str:
        """The benchmark that reads it."""
        return self.name.partition(":")[0]

    @property
    def word(self) -> str:
        """What to say of it."""
        return "worse" if self.worse else "new" if self.stored is None else "good"


def judged(stored: Mapping[str, float], read: Mapping[str, float], tolerance: float = TOLERANCE) -> list[Judgement]:
    """Each ratio that was read against the stored one; one that is not a number is worse than any."""
    result: list[Judgement] = []
    for name, value in read.items():
        before = stored.get(name)
        worse = before is not None and not value <= before * (1 + tolerance)
        result.append(Judgement(name, value, before, worse))
    return result


def machine() -> str:
    """Processor, cores, system and Python, as far as the system tells."""
    processor = platform.processor() or platform.machine()
    for line in _lines(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            processor = line.partition(":")[2].strip()
            break
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
