"""Builds what is published and tries it out as a user would: `make release`."""
