"""``python -m shoal.cli``: the command line without the installed script."""

import sys

try:
    from shoal.cli.main import main
except KeyboardInterrupt:  # before the first line of main, which catches it from there on
    print("Stopped.", file=sys.stderr)
    sys.exit(2)

if __name__ == "__main__":
    main(prog_name="shoal")
