"""``python -m venmas`` is the command line."""

from venmas.cli.main import main

main()
