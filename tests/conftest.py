"""Settings for all tests: hypothesis is deterministic, so that a red run is red everywhere; no compile is cached."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("default", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")

# two test processes at a time: the threads of small products would wait for each other (as in cubelane.cli.main)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["CUBELANE_CACHE"] = "off"  # a test must see what the passes do now; commands started by tests inherit it
