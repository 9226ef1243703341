"""Settings for all tests: hypothesis is deterministic, so that a red run is red everywhere."""

from hypothesis import HealthCheck, settings

settings.register_profile("default", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")
