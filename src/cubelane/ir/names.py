"""Names of Python as names of IR values: letters that MLIR does not know are written by their number."""


def value_name(name: str) -> str:
    """A name hint, also a Python name, for a Python name of any letters: `größe` is `gr_xf6_xdfe`."""
    return name if name.isascii() else "".join(c if c.isascii() else f"_x{ord(c):x}" for c in name)
