"""Builds wheel and sdist into `dist`, and tries the wheel out: `python -m release [--python PYTHON ...]`."""

import argparse
import sys
import tempfile
from pathlib import Path

from release.build import ROOT, build, contents, wanted_in_sdist, wanted_in_wheel
from release.tryout import Failed, install, try_out


def main() -> int:
    """Runs the command; 1 when something is missing or a step fails."""
    arguments = argparse.ArgumentParser(prog="python -m release")
    arguments.add_argument("-d", dest="folder", type=Path, default=ROOT / "dist", help="where wheel and sdist go")
    arguments.add_argument("--python", action="append", help="an interpreter to try the wheel with (this one)")
    given = arguments.parse_args()
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob("*.whl"), *folder.glob("*.tar.gz")):
        old.unlink()
    built = build(folder)
    for path, wanted in ((built.wheel, wanted_in_wheel()), (built.sdist, wanted_in_sdist())):
        if missing := wanted - contents(path):
            print(f"{path.name} lacks {', '.join(sorted(missing))}")
            return 1
        print(f"{path}: {path.stat().st_size:,} bytes")
    for python in given.python or [sys.executable]:
        with tempfile.TemporaryDirectory() as away:
            place = Path(away)
            programs = install(built.wheel, place / "environment", python)
            (place / "work").mkdir()
            try:
                lines = try_out(programs, place / "work")
            except Failed as problem:
                print(f"with {python}: {problem}")
                return 1
        print(f"with {python}:")
        print("\n".join(f"  {line}" for line in lines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
