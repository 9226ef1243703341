"""Speed, measured as ratios within one run: `make bench` or `python -m benchmarks [NAME ...]`.

NumPy works on one core here: the machine models run on one, and threads that wait count as processor time.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # read once, when NumPy is loaded
