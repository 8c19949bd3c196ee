"""`python -m popvision.cli`."""

from popvision.cli import main

main()
