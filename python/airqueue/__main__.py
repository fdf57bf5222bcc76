"""`python -m airqueue`."""

from airqueue.cli import main

if __name__ == "__main__":
    main(prog_name="airqueue")
