"""Speed, measured as ratios within one run: `make bench` or `python -m benchmarks [NAME ...]`."""

import os

# as in cubelane.cli.main, for the products of the yardstick too; read when NumPy is loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
