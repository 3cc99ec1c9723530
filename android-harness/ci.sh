#!/bin/bash
# What CI runs of the harness. From a fresh machine with a JDK of 17 or later and Maven; with --install it installs the
# Debian packages that build.sh and the stand-in need.
#
#   android-harness/ci.sh [--install] CETP-CONFORMANCE
#
# It compiles everything, runs the harness's own tests, makes and checks the APKs, and then runs the whole suite against
# the stand-in for a device: over stdio, and over Debian's adb server. It fails with the first thing that falls short.
set -euo pipefail
install=()
if [ "${1:-}" = --install ]; then
    install=(--install)
    shift
fi
[ -x "${1:-}" ] || { echo "ci.sh: give the program cetp-conformance" >&2; exit 2; }
runner=$(realpath "$1")
cd "$(dirname "$0")"

timed() { # what, command
    local what=$1 begun=$SECONDS
    shift
    echo "ci.sh: $what"
    "$@"
    echo "ci.sh: $what took $((SECONDS - begun)) s"
}

timed "tests of the harness" mvn -q -B verify
timed "APKs" ./build.sh "${install[@]}"
command -v adb >/dev/null || {
    [ ${#install[@]} -gt 0 ] || { echo "ci.sh: missing: adb (--install installs it)" >&2; exit 1; }
    apt-get install -y -qq --no-install-recommends adb
}
timed "the provider suite over stdio" "$runner" run --target device-standin/target.toml --check-protocol --test-threads 1
timed "the consumer suite over stdio" "$runner" run --target device-standin/consumer-target.toml --check-protocol
timed "both suites over adb" device-standin/suite.sh "$runner"
