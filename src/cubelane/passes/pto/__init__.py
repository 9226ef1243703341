"""Passes over PTO IR, one per file, named as in the specification (spec/pto.md 5 to 8). `pipeline` holds the order."""
