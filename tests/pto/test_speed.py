"""The whole way from text to text grows linearly with the module."""

import time

from cubelane.emit.vpto import emit_vpto

from .snippets import IN_UB, C, V, flag, kernel


def seconds(repeats: int) -> float:
    part = IN_UB + flag("set", "MTE2", "V") + flag("wait", "MTE2", "V") + V + C + flag("set", "M", "FIX")
    text = kernel(part * repeats)
    start = time.process_time()
    emit_vpto(text)
    return time.process_time() - start


def test_eight_times_the_ops_take_far_less_than_64_times_as_long():
    seconds(5)
    small = min(seconds(40) for _ in range(2))
    assert seconds(320) < 20 * small
