"""What a kernel prints while it is read stays out of the way of what a command prints."""

import json

from tests.cli.conftest import GOOD


def test_static_print_does_not_spoil_json(run, tmp_path) -> None:
    path = tmp_path / "k.py"
    path.write_text(
        GOOD.replace("            y = pl.matmul", '            pl.static_print("here")\n            y = pl.matmul')
    )
    code, out, err = run("lower", path, "--format", "json")
    assert code == 0 and "@pl.program" in json.loads(out)["text"]
    assert "static_print" in err and "here" in err
