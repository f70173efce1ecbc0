"""`python -m leantta` is the command line."""

from leantta.cli.main import main

main()
