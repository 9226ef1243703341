"""Runs many commands in one process: `python -m tests.hostile.all_outputs`; what each prints goes to `out/NAME.txt`."""

import contextlib
from pathlib import Path

from cubelane.check.fuzz.campaign import program
from cubelane.cli.main import run_command

REGION, COLUMNS, TRACED = "trust/region_carry.py", "trust/ragged_columns.py", "ptodsl/gemm_bias.py"
COMMANDS = {
    "compile": ["compile", "--no-timing", "-o", "out/compile", REGION],
    "report": ["compile", "--target", "a5", "--report", "out/page.html", COLUMNS],
    "figures": ["compile", "--format", "json", REGION],
    "mlir": ["lower", "--as", "mlir", REGION],
    "pto": ["emit", "--as", "pto", REGION],
    "programs": ["emit", "--as", "numpy", COLUMNS],
    "traced-pto": ["emit", "--as", "pto", TRACED],
    "traced-vpto": ["emit", "--as", "vpto", TRACED],
    "check": ["check", REGION],
    "refusal": ["compile", "--mode", "left_right", "--format", "json", "refused.py"],
}


def main() -> None:
    """Runs all commands; random kernels are only made, not judged."""
    for name, command in COMMANDS.items():
        with Path(f"{name}.txt").open("w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
            with contextlib.redirect_stderr(file):
                code = run_command(command[0], command[1:])
            print(f"exit code {code}")
    kernels = [program(3, number).text for number in range(60)]
    Path("kernels.txt").write_text("\n".join(kernels), encoding="utf-8")


if __name__ == "__main__":
    main()
