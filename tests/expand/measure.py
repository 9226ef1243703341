"""Figures of the expansion and the protocol checker: `python -m tests.expand.measure`. Best of three runs."""

import time

from xdsl.context import Context

from cubelane.analysis.channel_protocol import core_groups
from cubelane.check.protocol import Bounds, check_group
from cubelane.passes.tile.expand_mixed_kernel import ExpandMixedKernel
from tests.expand.stages import TO_VEC, finished, kernel, lines, product, program


def boundaries(count: int) -> str:
    """`count` crossings one after the other."""
    body = product("a0") + f"v0 = {TO_VEC.format('a0')}\n"
    for i in range(1, count):
        body += f"a{i} = pl.tile.matmul(xl, wr)\nu{i} = {TO_VEC.format(f'a{i}')}\nv{i} = pl.tile.add(v{i - 1}, u{i})\n"
    return kernel(body + f"out = pl.tile.store(v{count - 1}, [0, 0], y)\nreturn out")


def nested(depth: int) -> str:
    """One crossing inside `depth` loops of two trips."""
    body = "".join(
        lines(f"for i{d}, (y{d + 1}_it,) in pl.range(2, init_values=({f'y{d}_it' if d else 'y'},)):", d)
        for d in range(depth)
    )
    body += product(depth=depth)
    body += lines(f"v = {TO_VEC.format('acc')}\ns{depth} = pl.tile.store(v, [0, 0], y{depth}_it)", depth)
    for d in range(depth, 0, -1):
        body += lines(f"s{d - 1} = pl.yield_(s{d})", d)
    return kernel(body + "return s0")


def best(text: str) -> float:
    """Seconds of ExpandMixedKernel."""
    times: list[float] = []
    for _ in range(3):
        module = program(text)
        start = time.perf_counter()
        ExpandMixedKernel().apply(Context(), module)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Prints all figures."""
    for count in (1, 4, 16, 64):
        print(f"{count:3d} boundaries  {1e3 * best(boundaries(count)):8.2f} ms")
    for depth in range(1, 7):
        print(f"nest depth {depth}   {1e3 * best(nested(depth)):8.2f} ms")
    for count in (16, 64, 256, 1024, 4096):
        trips = kernel(
            f"for k, (y_it,) in pl.range({count}, init_values=(y,)):\n"
            + product(depth=1)
            + lines(f"v = {TO_VEC.format('acc')}\ny1 = pl.tile.store(v, [0, 0], y_it)\ny2 = pl.yield_(y1)", 1)
            + "return y2",
            attrs='"slot_num": 4',
        )
        (group,) = core_groups(finished(trips, "a2a3"))
        start = time.perf_counter()
        verdict = check_group(group, Bounds(states=10**9, actions=10**9))
        spent = time.perf_counter() - start
        print(f"{count:5d} trips, depth 4: {verdict}, {spent:.2f} s, {verdict.states / spent:,.0f} states/s")


if __name__ == "__main__":
    main()
