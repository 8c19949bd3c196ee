"""`python -m popvision`."""

from popvision.cli import main

main()
