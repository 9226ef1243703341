"""Coverage-guided fuzzing of the parsers: `python -m tests.hostile.fuzz_parsers dsl|pto [options of libFuzzer]`.

Whatever the bytes, a text is a program or a Diagnostic; a program prints, and what is printed reads back. Needs the
extra `fuzz`. The corpus starts from the examples and stays in `.cubelane/corpus-dsl` (or `-pto`); an input that breaks
the rule is written to `.cubelane/crash-...` by libFuzzer, which prints the exception.
"""

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["cubelane.language", "cubelane.ir"]):
    from cubelane.analysis.equality import structurally_equal
    from cubelane.ir.diagnostic import Diagnostic
    from cubelane.ir.pto.text import print_pto, read_pto
    from cubelane.language.parser import parse
    from cubelane.language.printing.programs import print_program

ROOT = Path(__file__).parents[2]
WORDS = """
 pl.program pl.function pl.Tensor[[8,8],pl.FP32] pl.Scalar[pl.INDEX] pl.range( pl.at( pl.pipeline(
pl.tile.load( pl.tile.store( pl.matmul( pl.split_aiv(2,mode= pl.SplitMode.UP_DOWN init_values=( pl.yield_(
pl.while_( pl.cond( for while if else: break continue return with class def scf.for scf.if func.func module
pto.mad !pto.ptr<f32,gm> #pto.pipe<PIPE_V> !pto.mask<b32> !pto.tile_buf<vec,8x8xf32> #pto.kernel_kind<cube> pto.vlds
iter_args( dense<1> loc("x":1:2) @"a\\22" "\\C3\\9F" ß é １ 𝔘 {a=1} affine_map<(d0)->(d0)>
""".split()


def dsl(data: bytes) -> None:
    """One DSL text."""
    text = data.decode("utf-8", errors="replace")
    try:
        program = parse(text, "kernel.py")
    except Diagnostic as problem:
        assert str(problem)
        return
    printed = print_program(program)
    assert structurally_equal(program, parse(printed)) is None, printed


def pto(data: bytes) -> None:
    """One PTO text."""
    text = data.decode("utf-8", errors="replace")
    try:
        program = read_pto(text, "kernel.pto")
    except Diagnostic as problem:
        assert str(problem)
        return
    printed = print_pto(program)
    again = read_pto(printed, "kernel.pto")
    assert print_pto(again) == printed and again.is_structurally_equivalent(program), printed
    full = print_pto(program, full=True)
    assert print_pto(read_pto(full, "kernel.pto")) == printed, full


def seeds(kind: str) -> list[str]:
    """Texts to start from."""
    if kind == "dsl":
        kernels = ROOT / "tests" / "regressions" / "kernels"
        paths = [*sorted((ROOT / "examples").glob("*.py"))[:12], *sorted(kernels.glob("*.py"))]
    else:
        folders = (ROOT / "tests" / "filecheck" / "pto", ROOT / "tests" / "pto" / "corpus")
        paths = [path for folder in folders for path in sorted(folder.rglob("*.pto"))]
    return [path.read_text(encoding="utf-8") for path in paths]


def main() -> None:
    """Sets up corpus and dictionary and hands over to libFuzzer."""
    kind = sys.argv[1] if len(sys.argv) > 1 else ""
    if kind not in ("dsl", "pto"):
        raise SystemExit("usage: python -m tests.hostile.fuzz_parsers dsl|pto [options of libFuzzer]")
    folder = ROOT / ".cubelane" / f"corpus-{kind}"
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(seeds(kind)):
        (folder / f"seed-{number}").write_text(text, encoding="utf-8")
    words = ROOT / ".cubelane" / "parser-words.dict"
    escaped = ("".join(f"\\x{byte:02x}" for byte in word.encode()) for word in WORDS)
    words.write_text("".join(f'"{word}"\n' for word in escaped), encoding="utf-8")
    options = [f"-dict={words}", f"-artifact_prefix={ROOT / '.cubelane'}/", "-max_len=20000", "-timeout=60"]
    atheris.Setup([sys.argv[0], str(folder), *options, *sys.argv[2:]], dsl if kind == "dsl" else pto)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
