"""The made parts of docs/language.md. `python -m tests.language.language_page` writes them anew."""

import re
from pathlib import Path

from cubelane.ir.traits import Cost, CostClass, Split, Splits, trait_of_class
from cubelane.language import errors
from cubelane.language.registry import OPERATIONS, REFUSED, REFUSED_NAMESPACES, find

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
PART = re.compile(r"<!-- made: (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def family(space: str, name: str) -> str:
    """The family of an operator, from what it declares."""
    op = find(space, name)
    assert op is not None
    splits, cost = trait_of_class(op, Splits), trait_of_class(op, Cost)
    kind = splits.behaviour if splits else Split.NONE
    if kind is Split.CUBE:
        return "products"
    if kind is Split.REDUCES:
        return "reductions"
    if kind in (Split.BOUNDARY, Split.CHANNEL) or space == "system":
        return "between the cores"
    if kind is Split.ELEMENTWISE:
        return "per row or column" if "expand" in name else "elementwise"
    if kind in (Split.GENERATES, Split.POSITIONAL) or (cost and cost.cost is CostClass.FREE and kind is Split.NONE):
        return "making and asking"
    return "moving and shaping"


def operators() -> str:
    families: dict[str, set[str]] = {}
    for space, name in OPERATIONS:
        op = find(space, name)
        assert op is not None
        families.setdefault(family(space, name), set()).add(op.SPELLING)
    rows = [f"| {word} | {', '.join(f'`{n}`' for n in sorted(names))} |" for word, names in sorted(families.items())]
    return "\n".join(["| family | operators |", "|---|---|", *rows])


def refused() -> str:
    known = {**REFUSED, **{f"{n}.*": v for n, v in REFUSED_NAMESPACES.items()}}
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, reason in known.items():
        reasons.setdefault(reason, []).append(name)
    rows = [
        f"| {', '.join(f'`{n}`' for n in names)} | {why} | {instead} |" for (why, instead), names in reasons.items()
    ]
    return "\n".join(["| operators | why | instead |", "|---|---|---|", *rows])


def classes() -> str:
    found = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.ParserError)]
    rows = [f"| `pl.{c.__name__}` | `{c.CODE}` | {(c.__doc__ or '').strip()} |" for c in found]
    return "\n".join(["| class | code | what it tells |", "|---|---|---|", *rows])


PARTS = {"operators": operators, "refused": refused, "errors": classes}


def page(text: str) -> str:
    """The page with its made parts as the code has them."""
    return PART.sub(lambda m: f"<!-- made: {m[1]} -->\n{PARTS[m[1]]()}\n<!-- end -->", text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
