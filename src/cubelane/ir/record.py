"""Values with named fields, like frozen dataclasses, for classes that every start of the compiler defines.

`dataclass` writes six methods as text and compiles them: half a millisecond a class, and sixty classes are a tenth of
the time from a cold start to a compiled kernel. `record` gives all classes the same methods. What may be a tuple is a
`NamedTuple` instead.
"""

from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Gives a class its fields (as annotated, those of its bases first), and equality and hash by their values."""
    inherited: dict[str, Any] = getattr(cls, "FIELDS", {})
    own = [name for name, kind in cls.__annotations__.items() if not str(kind).startswith("typing.ClassVar")]
    fields = {**inherited, **{name: cls.__dict__.get(name, _NEEDED) for name in own}}
    methods: dict[str, Any] = {
        "FIELDS": fields,
        "__match_args__": tuple(fields),
        "__init__": _init(tuple(fields), {name: value for name, value in fields.items() if value is not _NEEDED}),
        "__eq__": _eq,
        "__hash__": _hash,
        "__repr__": _repr,
        "__setattr__": _fixed,
        "__delattr__": _fixed,
    }
    for name, method in methods.items():
        if name not in cls.__dict__:
            setattr(cls, name, method)
    return cls


def changed(value: T, **changes: Any) -> T:
    """The same record with other values in some fields."""
    return type(value)(**{**value.__dict__, **changes})


_NEEDED = object()
"""The default of a field that has none."""


def _init(names: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., None]:
    known, count = frozenset(names), len(names)

    def __init__(self: Any, *args: Any, **named: Any) -> None:
        values = self.__dict__
        values.update(defaults)
        values.update(zip(names, args, strict=False))
        values.update(named)
        if values.keys() != known or len(args) > count:
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(names)}; given are {args} and {named}")

    return __init__


def _eq(self: Any, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self.__dict__ == other.__dict__


def _hash(self: Any) -> int:
    return hash(tuple([self.__dict__[name] for name in self.FIELDS]))


def _repr(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in self.FIELDS)})"


def _fixed(self: Any, name: str, *_: object) -> None:
    raise AttributeError(f"{type(self).__name__}.{name} cannot be changed")
