"""Scripts of the other package run unmodified; a real package that is installed is never shadowed unless asked."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = """
import numpy as np
import pypto.language as pl
from pypto import DataType, backend, ir, passes

ROWS = 32

@pl.program
class Scale:
    @pl.function
    def main(self, x: pl.Tensor[[ROWS, 32], pl.FP16], w: pl.Tensor[[32, 16], DataType.FP16],
             out: pl.Out[pl.Tensor[[ROWS, 16], pl.FP32]]) -> pl.Tensor[[ROWS, 16], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            y = pl.matmul(x, w, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.mul(y, 2.0), [0, 0])
        return out
"""

BY_PASSES = (
    KERNEL
    + """
import sys
backend.set_backend_type(backend.BackendType.Ascend950)
program = Scale
for name in ("outline_incore_scopes", "convert_tensor_to_tile", "flatten_tile_nd_to_2d", "legalize_tile_cast",
             "infer_tile_memory_space", "resolve_backend_op_layouts", "lower_auto_vector_split",
             "expand_mixed_kernel"):
    program = getattr(passes, name)()(program)
text = ir.python_print(program)
assert "tpush_to_aiv" in text and "split=1" in text
again = pl.parse(program.as_python())
ir.assert_structural_equal(program, again)
assert not ir.structural_equal(program, pl.parse(KERNEL_TEXT))
print("arguments", *sys.argv[1:])
""".replace("KERNEL_TEXT", "open(__file__).read().split('import sys')[0]")
)

BY_MANAGER = (
    KERNEL
    + """
from pathlib import Path
from pypto.ir.pass_manager import OptimizationStrategy, PassManager
manager = PassManager.get_strategy(OptimizationStrategy.Default)
done = manager.run_passes(Scale, dump_ir=True, output_dir="dump")
assert manager.pass_names[:3] == ["UnrollLoops", "Simplify", "OutlineIncoreScopes"]
assert (Path("dump") / "00_frontend.py").exists() and (Path("dump") / "03_after_OutlineIncoreScopes.py").exists()
assert "pl.at" in Scale.as_python() and "tpush" in done.as_python()
compiled = ir.compile(Scale, output_dir="built", backend_type=backend.BackendType.Ascend950, skip_ptoas=True)
assert compiled.target == "a5" and compiled.judge().equal
assert [p.name for p in (Path("built") / "kernels").iterdir()] == ["main_incore_0.pto"]
assert 'pto.target_arch = "a5"' in (Path("built") / "kernels" / "main_incore_0.pto").read_text()
assert (Path("built") / "passes_dump" / "00_frontend.py").exists()
print("done")
"""
)


def cubelane(*arguments: object, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cubelane.cli.main", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def write(folder: Path, text: str, name: str = "script.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_script_that_calls_passes_runs_with_its_arguments(tmp_path: Path) -> None:
    done = cubelane("run", write(tmp_path, BY_PASSES), "--depth", "3", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "arguments --depth 3\n"), done.stderr


def test_a_script_that_compiles_runs(tmp_path: Path) -> None:
    done = cubelane("run", write(tmp_path, BY_MANAGER), folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("import pypto.runtime", "pypto.runtime"),
        ("from pypto import debug", "'debug' from 'pypto'"),
        ("import pypto; pypto.debug", "pypto.debug"),
        ("import pypto.language as pl; pl.submit", "pl.submit"),
        ("import pypto.language as pl; pl.nonsense", "nonsense"),
        ("from pypto import passes; passes.insert_mx_scale_addr", "pypto.passes.insert_mx_scale_addr"),
        ("from pypto import LogLevel", "'LogLevel' from 'pypto'"),
        ("from pypto import backend; backend.nothing", "nothing"),
        ("from pypto.ir import Span", "'Span'"),
    ],
)
def test_what_is_missing_says_so_by_name(tmp_path: Path, line: str, name: str) -> None:
    done = cubelane("run", write(tmp_path, f"x = 1\n{line}\n"), folder=tmp_path)
    assert done.returncode == 1
    assert name in done.stderr and "script.py:2" in done.stderr
    assert "Traceback" not in done.stderr


REAL = "class Real: pass\nDataType = Real\n"
WHO = "import pypto, pypto.language as pl\nprint(getattr(pl, 'WHO', 'cubelane'))\n"


def install_a_real_one(folder: Path) -> str:
    package = folder / "site" / "pypto"
    package.mkdir(parents=True)
    write(package, REAL, "__init__.py")
    write(package, "WHO = 'real'\n", "language.py")
    return str(folder / "site")


def test_an_installed_package_is_never_shadowed_unless_asked(tmp_path: Path) -> None:
    site = install_a_real_one(tmp_path)
    script = write(tmp_path, WHO)
    assert cubelane("run", script, folder=tmp_path, PYTHONPATH=site).stdout == "real\n"
    assert cubelane("run", "--shadow", script, folder=tmp_path, PYTHONPATH=site).stdout == "cubelane\n"
    assert cubelane("run", script, folder=tmp_path).stdout == "cubelane\n"


def test_install_shadows_a_package_that_is_loaded_already_only_when_asked(tmp_path: Path) -> None:
    site = install_a_real_one(tmp_path)
    code = (
        "import pypto.language as first\n"
        "from cubelane import compat\n"
        "compat.install()\nimport pypto.language as second\nassert second.WHO == 'real'\n"
        "compat.install(shadow=True)\nimport pypto.language as third\nassert not hasattr(third, 'WHO')\n"
        "from pypto import DataType\nassert DataType.FP32 is third.FP32\n"
        "compat.uninstall()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": site}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_another_machine_is_refused_until_the_choice_is_taken_back() -> None:
    from cubelane.dropin import backend

    backend.reset_for_testing()
    backend.set_backend_type(backend.BackendType.Ascend950)
    with pytest.raises(ValueError, match="already set to Ascend950"):
        backend.set_backend_type(backend.BackendType.Ascend910B)
    assert backend.get_backend_type() is backend.BackendType.Ascend950
    backend.reset_for_testing()
    assert backend.get_backend_type() is None


BY_CONTEXT = (
    KERNEL
    + """
seen = []
def note(step, program):
    seen.append(step.get_name())
watch = passes.CallbackInstrument(before_pass=note, name="watch")
with passes.PassContext([watch], passes.VerificationLevel.ROUNDTRIP) as context:
    assert passes.PassContext.current() is context
    pipeline = passes.PassPipeline()
    for name in ("convert_to_ssa", "simplify", "outline_incore_scopes", "convert_tensor_to_tile_ops", "init_mem_ref"):
        pipeline.add_pass(getattr(passes, name)())
    done = pipeline.run(Scale)
    with passes.PassContext(verification_level=passes.VerificationLevel.NONE):
        passes.simplify()(done)
assert passes.PassContext.current() is None
passes.simplify()(done)
assert seen == pipeline.get_pass_names(), seen
print(*seen)
print(repr(done), ": pl.Tile[" in ir.python_print(done), ": pl.Tile[" in ir.python_print(done, concise=True))
"""
)


def test_a_context_watches_and_verifies_the_passes_inside_it(tmp_path: Path) -> None:
    done = cubelane("run", write(tmp_path, BY_CONTEXT), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    names = "ConvertToSSA Simplify OutlineIncoreScopes ConvertTensorToTileOps InitMemRef"
    assert done.stdout.splitlines() == [names, "<Program Scale: main_incore_0, main> True False"]


def test_the_manager_calls_the_instruments_of_its_context() -> None:
    from cubelane.dropin import passes
    from cubelane.dropin.pass_manager import PassManager
    from cubelane.language import parse

    before: list[str] = []
    after: list[str] = []
    watch = passes.CallbackInstrument(lambda p, _: before.append(p.get_name()), lambda p, _: after.append(p.get_name()))
    manager = PassManager.get_strategy()
    with passes.PassContext([watch]):
        manager.run_passes(parse(KERNEL))
    skipped = set(manager.pass_names) - set(before)
    assert before == after == [name for name in manager.pass_names if name not in skipped]
    assert len(before) > 12


def test_a_program_that_is_wrong_is_told_at_the_pass_that_made_it() -> None:
    from cubelane.dropin import passes
    from cubelane.ir.diagnostic import Diagnostic
    from cubelane.language import parse

    class Spoiled(passes.VerificationInstrument):
        def after(self, step, program) -> None:
            next(iter(program.functions.values())).body.block.last_op.detach()
            super().after(step, program)

    with passes.PassContext([Spoiled()]):
        with pytest.raises(Diagnostic, match="verification failed at Simplify"):
            passes.simplify()(parse(KERNEL))


def test_every_pass_whose_work_is_done_elsewhere_leaves_the_program() -> None:
    from cubelane.dropin import passes
    from cubelane.language import parse

    program = parse(KERNEL)
    before = program.as_python()
    documents = (Path(__file__).parents[2] / "docs" / "deviations.md").read_text(encoding="utf-8")
    for name in passes.HOLDS:
        held = getattr(passes, name)()
        assert held(program).as_python() == before
        assert held.get_name() in documents


def test_concise_text_has_no_types_of_variables_and_another_prefix_is_refused() -> None:
    from cubelane.language import parse

    program = parse(KERNEL)
    assert "y = pl.tensor.matmul(" in program.as_python(concise=True)
    assert parse(program.as_python(concise=True)).as_python() == program.as_python()
    with pytest.raises(ValueError, match="not `ir`"):
        program.as_python(prefix="ir")
