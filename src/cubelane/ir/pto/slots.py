"""Which slot of a signature each value of an op takes."""

from cubelane.ir.pto.decl import Slot


def fill(slots: tuple[Slot, ...], count: int) -> list[Slot]:
    """The slots of `count` values: optional ones fill left to right, the variadic one takes what is over."""
    if len(slots) == count and not any(slot.variadic for slot in slots):
        return list(slots)
    spare = count - sum(not (slot.optional or slot.variadic) for slot in slots)
    filled: list[Slot] = []
    for slot in slots:
        if slot.variadic:
            filled += [slot] * max(spare, 0)
            spare = 0
        elif not slot.optional:
            filled.append(slot)
        elif spare > 0:
            filled.append(slot)
            spare -= 1
    return filled


def arity_problem(what: str, slots: tuple[Slot, ...], count: int) -> str | None:
    """What is wrong with the number of values, or None."""
    if len(slots) == count:
        return None
    least = sum(not (slot.optional or slot.variadic) for slot in slots)
    most = None if any(slot.variadic for slot in slots) else len(slots)
    if count >= least and (most is None or count <= most):
        return None
    wanted = f"{least}" if most == least else f"{least} or more" if most is None else f"{least} to {most}"
    return f"expected {wanted} {what}, got {count}"
