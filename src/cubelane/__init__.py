"""Cubelane: a compiler for mixed cube and vector kernels."""
