"""`python -m cormorant`: the command, where its script is not on the path."""

from cormorant.cli import main

if __name__ == "__main__":
    main()
