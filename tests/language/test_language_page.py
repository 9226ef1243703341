"""docs/language.md says what the code does."""

from cubelane.language.registry import OPERATIONS, REFUSED
from tests.language.language_page import PAGE, PART, PARTS, page


def test_the_made_parts_follow_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert {m[1] for m in PART.finditer(text)} == set(PARTS)
    assert page(text) == text, "python -m tests.language.language_page"


def test_every_operator_and_every_refused_name_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [n for _, n in OPERATIONS if f"`{n}`" not in text and f"`{n}_`" not in text] == []
    assert [n for n in REFUSED if f"`{n}`" not in text] == []
