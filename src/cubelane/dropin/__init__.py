"""What scripts of the other package find under its names: `pypto.ir`, `pypto.passes`, `pypto.backend`.

These modules stand above all rooms, like the command line. What is missing in them is missing by its name.
"""
