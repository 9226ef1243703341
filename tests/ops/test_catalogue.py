"""Every operator of the catalogue is callable, with a signature and documentation, or refused by its name."""

import inspect

import pytest

import cubelane.language as pl
from cubelane.language import errors, parse
from cubelane.language.registry import OPERATIONS, find, refusal
from tests.language.kernels import in_core
from tests.ops.catalogue import CATALOGUE

ROWS = [(path, name, status) for path, table in CATALOGUE.items() for status, names in table.items() for name in names]


def is_known(path: tuple[str, ...], name: str) -> bool:
    namespace = pl if not path else getattr(pl, path[0])
    return hasattr(namespace, name)


@pytest.mark.parametrize(("path", "name", "status"), ROWS, ids=lambda v: v if isinstance(v, str) else ".".join(v))
def test_an_operator_is_callable_or_refused_by_name(path: tuple[str, ...], name: str, status: str) -> None:
    if is_known(path, name):
        operation = getattr(pl if not path else getattr(pl, path[0]), name)
        assert operation.__doc__
        assert callable(operation) and inspect.signature(operation)
        return
    assert status != "C", "what mixed kernels use must work"
    refused = refusal((*path, name))
    assert refused is not None, f"{name} is neither known nor refused"
    full = ".".join(("pl", *path, name))
    with pytest.raises(errors.UnsupportedFeatureError, match=full.replace(".", r"\.")) as caught:
        parse(in_core(f"s = {full}(x)"))
    assert caught.value.instead
    assert caught.value.location.line > 0


@pytest.mark.parametrize("path", [("array", "make"), ("prefetch", "load")])
def test_a_namespace_that_is_not_supported_is_refused_by_name(path: tuple[str, str]) -> None:
    with pytest.raises(errors.UnsupportedFeatureError, match=r"pl\." + r"\.".join(path)):
        parse(in_core(f"s = pl.{'.'.join(path)}(x)"))


def test_no_operator_is_missing_in_the_catalogue() -> None:
    """What the language has and the reference's catalogue does not name is listed here."""
    named = {(path[0], name) for path, name, _ in ROWS if path}
    ours = {key for key in OPERATIONS if key not in named}
    extra = {name for space, name in ours if space == "tensor"}
    assert all(find("tile", name) is not None for name in extra), "a tensor op without a tile op of its name"
    assert {(space, name) for space, name in ours if space != "tensor"} == {
        ("system", "notify"),
        ("system", "wait"),
        ("system", "defer_wait"),
    }
