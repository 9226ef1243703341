"""`cubelane cache`: where the compile cache is, what it holds, and a way to empty it."""

import json

from cubelane.check.cache import VARIABLE, Cache, folder
from cubelane.cli.boundary import add_format, parser


def main(argv: list[str]) -> int:
    """Runs the command; always 0, for an empty cache is as good as a full one."""
    arguments = parser("cache", f"Show what the compile cache holds. {VARIABLE} names its folder, or is `off`.")
    arguments.add_argument("--clear", action="store_true", help="remove all entries")
    add_format(arguments)
    given = arguments.parse_args(argv)
    place = folder()
    kept = None if place is None else Cache(place)
    removed = kept.clear() if kept and given.clear else 0
    entries, size = kept.usage() if kept else (0, 0)
    if given.format == "json":
        facts = {"folder": None if place is None else str(place), "entries": entries, "bytes": size}
        print(json.dumps({**facts, "limit": kept.limit if kept else 0, "removed": removed}, indent=1))
    elif kept is None:
        print("the compile cache is switched off")
    else:
        print(f"folder   {place}\nentries  {entries}\nbytes    {size:,} of at most {kept.limit:,}")
        if given.clear:
            print(f"removed  {removed}")
    return 0
