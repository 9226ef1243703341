"""Attributes of the `pto` dialect (spec/pto.md 4.2)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from cubelane.ir.affinity import Affinity
from cubelane.ir.pto.spaces import Pipe, Space

KERNEL_KIND = "pto.kernel_kind"
BACKEND = "pto.backend"
TARGET_ARCH = "pto.target_arch"
TILEOP_HELPER = "pto.tileop.helper"
TILEOP_KIND = "pto.tileop.kind"
TILEOP_EFFECTS = "pto.tileop.effects"
SIMT_ENTRY = "pto.simt_entry"
ENTRY_MARKERS = ("pto.entry", "pto.kernel", "pto.aicore")


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")


@dataclass(frozen=True, init=False)
class WordAttr(ParametrizedAttribute):
    """An enum written `#pto.name<word>`, or `#pto<name word>` as the tile-level printer writes it."""

    word: StringAttr
    IN_DIALECT_BRACKETS: ClassVar[bool] = False
    """Whether the tile level writes it in the second way."""

    def verify(self) -> None:
        if not _WORD.fullmatch(self.word.data):
            raise VerifyException(f"{self.word.data!r} is no word; #{self.name} takes letters, digits and underscores")

    @classmethod
    def legal(cls, word: str) -> str | None:
        """The stored form of a word; None if the word is not one of this enum."""
        return word

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        bracket = parser.parse_optional_punctuation("<")
        word = parser.parse_identifier()
        if bracket:
            parser.parse_punctuation(">")
        legal = cls.legal(word)
        if legal is None:
            parser.raise_error(f"'{word}' is not a legal value of #{cls.name}")
        return (StringAttr(legal),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.word.data)


@irdl_attr_definition
class KernelKindAttr(WordAttr):
    """`#pto.kernel_kind<cube>` or `<vector>`; there is no mixed kind."""

    name = "pto.kernel_kind"

    @classmethod
    def legal(cls, word: str) -> str | None:
        return word if word in ("cube", "vector") else None

    @property
    def affinity(self) -> Affinity:
        """The core this kind names."""
        return Affinity(self.word.data)

    @staticmethod
    def of(core: Affinity) -> "KernelKindAttr":
        """The attribute that names `core`."""
        return KernelKindAttr.new((StringAttr(core.value),))


@irdl_attr_definition
class PipeAttr(WordAttr):
    """`#pto.pipe<PIPE_V>`."""

    name = "pto.pipe"

    @classmethod
    def legal(cls, word: str) -> str | None:
        pipe = Pipe.of_word(word)
        return None if pipe is None else str(pipe)

    @property
    def pipe(self) -> Pipe:
        """The queue this attribute names."""
        return Pipe[self.word.data.removeprefix("PIPE_")]

    @staticmethod
    def of(pipe: Pipe) -> "PipeAttr":
        """The attribute that names `pipe`."""
        return PipeAttr.new((StringAttr(str(pipe)),))


@irdl_attr_definition
class EventAttr(WordAttr):
    """`#pto.event<EVENT_ID0>` .. `<EVENT_ID7>`."""

    name = "pto.event"

    @classmethod
    def legal(cls, word: str) -> str | None:
        return word if word in {f"EVENT_ID{i}" for i in range(8)} else None


@irdl_attr_definition
class AddressSpaceAttr(WordAttr):
    """`#pto.address_space<vec>`, the memory of a memref or of a reserved buffer."""

    name = "pto.address_space"

    @classmethod
    def legal(cls, word: str) -> str | None:
        space = Space.of_word(word)
        return None if space is None else space.tile_word

    @property
    def space(self) -> Space:
        """The memory this attribute names."""
        space = Space.of_word(self.word.data)
        assert space is not None
        return space


@irdl_attr_definition
class LayoutAttr(WordAttr):
    """`#pto.layout<nd>`: how a tensor lies in global memory."""

    name = "pto.layout"


@irdl_attr_definition
class RoundModeAttr(WordAttr):
    """`#pto<round_mode RINT>`."""

    IN_DIALECT_BRACKETS: ClassVar[bool] = True
    name = "pto.round_mode"


@irdl_attr_definition
class CmpAttr(WordAttr):
    """`#pto<cmp lt>`."""

    IN_DIALECT_BRACKETS: ClassVar[bool] = True
    name = "pto.cmp"


@irdl_attr_definition
class AtomicTypeAttr(WordAttr):
    """`#pto<atomic_type atomic_add>`."""

    IN_DIALECT_BRACKETS: ClassVar[bool] = True
    name = "pto.atomic_type"


ALL_ATTRIBUTES: tuple[type[Attribute], ...] = (
    KernelKindAttr,
    PipeAttr,
    EventAttr,
    AddressSpaceAttr,
    LayoutAttr,
    RoundModeAttr,
    CmpAttr,
    AtomicTypeAttr,
)


def kind_of(attributes: dict[str, Attribute]) -> Affinity | None:
    """The core named by `pto.kernel_kind` in an attribute dictionary; None when the author named none."""
    kind = attributes.get(KERNEL_KIND)
    return kind.affinity if isinstance(kind, KernelKindAttr) else None
