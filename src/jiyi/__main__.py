"""`python -m jiyi`: the same as `jiyi`."""

from jiyi.apps.cli import main

main()
