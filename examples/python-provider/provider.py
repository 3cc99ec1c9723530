#!/usr/bin/env python3
"""A CETP v2 provider as a conformance target over stdio.

    python3 provider.py [--v2-only]

By default it serves v1 and v2; with --v2-only it has no v1.  See README.md for how the program is put together.
"""

import argparse
import sys


def main():
    parser = argparse.ArgumentParser(description="A CETP v2 provider as a conformance target over stdio.")
    parser.add_argument("--v2-only", action="store_true", help="serve v2 without v1")
    parser.add_argument("--worker", metavar="DIRECTORY", help=argparse.SUPPRESS)  # for the supervisor's own use
    options = parser.parse_args()

    if options.worker is not None:
        import worker

        worker.main(options.worker, (2,) if options.v2_only else (1, 2))
    else:
        import supervisor

        command = [sys.executable, __file__, *(["--v2-only"] if options.v2_only else []), "--worker"]
        supervisor.Supervisor(command).run()


if __name__ == "__main__":
    main()
