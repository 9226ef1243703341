"""Regenerates the tables of docs/trust.md: `python -m benchmarks.trust [--count N] [--seed S] [--jobs J]`.

Seeds faults into right programs and counts who catches them, judges N random kernels, and rewrites the marked parts of
the page. Ends with 1 when a fault survives that nobody has explained, or a random kernel shows a finding.
"""

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.trust.subjects import LEVELS, PTO, ROOT, all_kills
from benchmarks.trust.survivors import REASONS
from cubelane.check.faults.kills import CHECKERS, Kills
from cubelane.check.faults.pto_kills import PTO_CHECKERS
from cubelane.check.fuzz import coverage
from cubelane.check.fuzz.campaign import Campaign, State
from cubelane.cli.artifacts import write_text

PAGE = ROOT / "docs" / "trust.md"


def main() -> int:
    """Writes the page."""
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.trust")
    arguments.add_argument("--count", type=int, default=400, help="random kernels to judge")
    arguments.add_argument("--seed", type=int, default=0, help="which ones")
    arguments.add_argument("--jobs", type=int, default=1, help="worker processes")
    given = arguments.parse_args()
    found = all_kills()
    with tempfile.TemporaryDirectory() as folder:
        state = Campaign(Path(folder), given.seed, write_text, None, given.count, given.jobs).run()
    parts = {"kills": kill_tables(found), "survivors": survivor_table(found), "coverage": coverage_tables(state)}
    text = PAGE.read_text(encoding="utf-8")
    for name, content in parts.items():
        text = replaced(text, name, content)
    write_text(PAGE, text)
    unexplained = [s for level, kills in found.items() for s in kills.survivors if (level, *s.key) not in REASONS]
    for survivor in unexplained:
        print(f"no reason given: {survivor}")
    for path, words in state.findings.items():
        print(f"{path}: {words}")
    return 1 if unexplained or state.findings else 0


def replaced(text: str, name: str, content: str) -> str:
    """The page with the part between the marks of a name written anew."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.S)
    if not pattern.search(text):
        raise ValueError(f"{PAGE} has no part named {name}")
    return pattern.sub(lambda match: match[1] + "\n" + content + "\n\n" + match[2], text)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    return "\n".join(
        ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header), *("| " + " | ".join(r) + " |" for r in rows)]
    )


def kill_tables(found: dict[str, Kills]) -> str:
    """A table for each level: rules, mutants, share of each checker."""
    parts: list[str] = []
    for level, about in LEVELS.items():
        kills = found[level]
        checkers = PTO_CHECKERS if level == PTO else CHECKERS
        rows = [
            (kind, name, str(tried), *(str(kills.caught[kind, name, c]) for c in (*checkers, "any")))
            for (kind, name), tried in sorted(kills.tried.items())
        ]
        total = sum(kills.tried.values())
        sums = [sum(n for key, n in kills.caught.items() if key[2] == c) for c in (*checkers, "any")]
        rows.append(("**all**", "", str(total), *(f"{n} ({100 * n / total:.0f} %)" for n in sums)))
        parts.append(f"**{level}**, {about}:\n")
        parts.append(markdown(("kind", "fault", "mutants", *checkers, "caught by any"), rows) + "\n")
    return "\n".join(parts).rstrip()


def survivor_table(found: dict[str, Kills]) -> str:
    """Every mutant that nobody caught, those of one reason in a row."""
    rows: list[tuple[str, ...]] = []
    for level, kills in found.items():
        for (kernel, rule, op), count in sorted(Counter(s.key for s in kills.survivors).items()):
            reason = REASONS.get((level, kernel, rule, op), "**not explained**")
            rows.append((level, kernel, rule, f"`{op}`", str(count), reason))
    return markdown(("level", "kernel", "fault", "op", "mutants", "why it is no fault here"), rows)


def coverage_tables(state: State) -> str:
    """What the random kernels were, and which ops stood in which situations."""
    words = ("equal", "refused", "rejected", "finding")
    families = sorted({key.partition("|")[0] for key in state.tallies})
    rows = [(f, *(str(state.tallies.get(f"{f}|{w}", 0)) for w in words)) for f in families]
    rows.append(("**all**", *(str(state.count(word)) for word in words)))
    never = ", ".join(f"`{name}`" for name in coverage.never_met(state.coverage))
    return "\n\n".join(
        (
            f"{state.programs} kernels of seed {state.seed}:",
            markdown(("kernels", *words), rows),
            "Programs in which an op stood in a situation, summed over the ops of a behaviour:",
            markdown(coverage.HEADER, coverage.rows(state.coverage)),
            f"Never met: {never}.",
        )
    )


if __name__ == "__main__":
    raise SystemExit(main())
