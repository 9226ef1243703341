"""Texts that no author writes."""

KERNEL = """import pypto.language as pl

@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, x: pl.Tensor[[8, 8], pl.FP32], y: pl.Out[pl.Tensor[[8, 8], pl.FP32]], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[8, 8], pl.FP32]:
{body}
        return y
"""  # noqa: E501


def kernel(body: str, above: str = "") -> str:
    """A kernel with a body, and text above it."""
    return above + KERNEL.format(body="\n".join("        " + line for line in body.split("\n")))


def deep(opening: str, inner: str, closing: str, depth: int) -> str:
    """A nest."""
    return opening * depth + inner + closing * depth


EVIL = "__import__('pathlib').Path({mark!r}).write_text('ran')"
"""An expression that leaves a trace when anybody evaluates it."""

PLACES = {
    "a statement of the body": "{evil}",
    "an argument": "t = pl.tile.load(x, [{evil}, 0], [8, 8])",
    "a shape": "t = pl.tile.load(x, [0, 0], [{evil}, 8])",
    "a keyword": "t = pl.tile.full([8, 8], dtype=pl.FP32, value={evil})",
    "a condition": "if {evil}:\n    pass",
    "a bound": "for i in pl.range({evil}):\n    pass",
    "an f-string": "t = f'{{{evil}}}'",
    "an assertion": "assert {evil}",
    "a lambda": "t = (lambda: {evil})()",
    "a comprehension": "t = [{evil} for i in (1,)]",
    "a default": "def f(a={evil}):\n    pass",
    "an annotation": "t: {evil} = 1",
    "a with": "with {evil}:\n    pass",
    "a walrus": "t = (u := {evil})",
    "an import": "import this",
    "an exec": 'exec("{evil}")',
}
ABOVE = {
    "a module constant": "N = {evil}\n",
    "a statement of the module": "{evil}\n",
    "a decorator": "@{evil}\ndef f():\n    pass\n",
    "a default of a function": "def f(a={evil}):\n    pass\n",
    "a base class": "class A({evil}):\n    pass\n",
    "a metaclass": "class A(metaclass={evil}):\n    pass\n",
    "a dynamic name": "R = pl.dynamic({evil})\n",
    "a try": "try:\n    {evil}\nfinally:\n    pass\n",
}
CYCLES = {
    "a constant of itself": "N = N + 1\n",
    "two constants of each other": "A = B\nB = A\n",
    "a list in itself": "L = [L]\n",
    "a type of itself": "T = pl.Tensor[[T, 8], pl.FP32]\n",
    "a class below itself": "class A(A):\n    pass\n",
    "a function that calls itself": "def f():\n    return f()\n",
    "a struct of itself": "S = pl.Tuple[S, S]\n",
}
PTO = """module attributes {{pto.target_arch = "a5"}} {{
  func.func @k(%x: !pto.ptr<f32, gm>, %n: i64) attributes {{pto.entry}} {{
{body}
    return
  }}
}}
"""
