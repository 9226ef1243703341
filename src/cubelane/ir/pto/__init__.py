"""PTO IR: the `pto` dialect, declared from a table (spec/pto.md 4). `text` reads and prints modules."""
