"""Where the public conformance set lies; its tests skip without it."""

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("CUBELANE_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance")) / "tile"


@pytest.fixture(scope="session")
def tile_root() -> Path:
    """The tile cases of the conformance set."""
    if not ROOT.is_dir():
        pytest.skip("the conformance set is not here")
    return ROOT
