"""FileCheck tests of passes and commands: `lit tests/filecheck`."""

import os
import sys
import tempfile
from pathlib import Path

import lit.formats

config.name = "cubelane"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".pto", ".mlir", ".py", ".test"]  # noqa: F821
config.excludes = ["lit.cfg.py"]  # noqa: F821
config.test_source_root = str(Path(__file__).parent)  # noqa: F821
config.test_exec_root = tempfile.mkdtemp(prefix="cubelane-lit-")  # noqa: F821
config.environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # noqa: F821
