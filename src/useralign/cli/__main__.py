"""`python -m useralign.cli` is the same as `useralign`."""

from useralign.cli import main

main()
