"""``python -m shoal.cli``: the command line without the installed script."""

from shoal.cli.main import main

if __name__ == "__main__":
    main(prog_name="shoal")
