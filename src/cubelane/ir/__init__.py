"""The intermediate representation: xDSL dialects, types and the facts each op declares. Imports nothing of ours."""
