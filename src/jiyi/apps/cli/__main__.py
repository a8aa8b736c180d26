"""`python -m jiyi.apps.cli`: the same as `jiyi`."""

from jiyi.apps.cli import main

main()
