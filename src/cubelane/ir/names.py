"""Names of Python as names of IR values: letters that MLIR does not know are written by their number."""


def value_name(name: str) -> str:
    """A name hint for a Python name, which may have any letters: `größe` is `gr$xf6$xdfe`."""
    return name.encode("ascii", "backslashreplace").decode("ascii").replace("\\", "$")
