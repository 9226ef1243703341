"""Settings for all tests: hypothesis is deterministic, so that a red run is red everywhere."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("default", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")

# two test processes at a time: the threads of small products would wait for each other (as in cubelane.cli.main)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
