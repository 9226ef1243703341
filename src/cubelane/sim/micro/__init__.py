"""The micro-op machine: the cores of a group, their queues and memories, running split PTO modules (spec/pto.md 11)."""
