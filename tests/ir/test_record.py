"""Records behave as frozen dataclasses do."""

import copy
import pickle
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubelane.ir.record import changed, record


@record
class Point:
    """Two numbers; the second has a default."""

    x: float
    y: float = 0.0

    @property
    def norm(self) -> float:
        """The sum of both."""
        return abs(self.x) + abs(self.y)


@record
class Named(Point):
    """A point with a name."""

    name: str = "p"


@record
class Other:
    """The same fields as `Point`."""

    x: float
    y: float = 0.0


@dataclass(frozen=True)
class Plain:
    """What `Point` would be as a dataclass."""

    x: float
    y: float = 0.0


numbers = st.floats(allow_nan=False)


@given(numbers, numbers, numbers, numbers)
def test_equality_and_hash_are_those_of_the_values(a: float, b: float, c: float, d: float) -> None:
    assert (Point(a, b) == Point(c, d)) == (Plain(a, b) == Plain(c, d))
    assert hash(Point(a, b)) == hash(Point(y=b, x=a))
    assert Point(a, b) != Other(a, b)


def test_fields_of_bases_come_first_and_defaults_hold() -> None:
    assert (Named(1).x, Named(1).y, Named(1).name) == (1, 0.0, "p")
    assert Named(1, 2, "q") == Named(name="q", y=2, x=1) != Point(1, 2)
    assert Named(3, -4).norm == 7
    assert repr(Point(1, y=2)) == repr(Plain(1, y=2)).replace("Plain", "Point")


def test_a_record_is_fixed() -> None:
    point = Point(1)
    with pytest.raises(AttributeError):
        point.x = 2  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError):
        del point.x  # pyright: ignore[reportAttributeAccessIssue]
    assert changed(point, y=5) == Point(1, 5) and point == Point(1)


@pytest.mark.parametrize(
    "given",
    [((), {}), ((1, 2, 3), {}), ((1,), {"z": 2}), ((), {"y": 1}), ((), {"z": 1})],
    ids=["none", "many", "wrong", "missing", "wrong and missing"],
)
def test_wrong_fields_are_refused(given: tuple[tuple[float, ...], dict[str, float]]) -> None:
    with pytest.raises(TypeError, match="Point has the fields x, y"):
        Point(*given[0], **given[1])


def test_a_record_matches_by_position_copies_and_pickles() -> None:
    match Named(1, 2, "q"):
        case Point(1, y):
            assert y == 2
        case _:
            pytest.fail("no match")
    named = Named(1, 2)
    assert copy.deepcopy(named) == named == pickle.loads(pickle.dumps(named))
