"""The tracing language `pto`: kernels in Python that become PTO IR (spec/pto.md 2, 3)."""

from cubelane.ptodsl import pto

__all__ = ["pto"]
