"""`python -m rocm_perf`: the program `rocm-perf` that was installed with this package."""

import os
import sys
import sysconfig


def main() -> None:
    """Becomes the program, so that signals and exit codes are its own."""
    program = os.path.join(sysconfig.get_path("scripts"), "rocm-perf")
    if not os.path.exists(program):
        sys.exit(f"error: `{program}` is missing\n help: install the package again: pip install --force-reinstall rocm-perf")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
