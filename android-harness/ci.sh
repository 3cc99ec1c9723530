#!/bin/bash
# What CI runs of the harness. From a fresh machine with a JDK of 17 or later and Maven; with --install it installs the
# Debian packages that build.sh and the stand-in need.
#
#   android-harness/ci.sh [--install] CETP-CONFORMANCE
#
# It compiles everything, runs the harness's own tests, makes and checks the APKs, and then runs the suites against the
# stand-in for a device: over stdio, and over Debian's adb server. Of the provider suite the transcripts of both are
# compared with the reference's, vector by vector; cargo is needed for that. It fails with the first thing that falls short.
set -euo pipefail
install=()
if [ "${1:-}" = --install ]; then
    install=(--install)
    shift
fi
[ -x "${1:-}" ] || { echo "ci.sh: give the program cetp-conformance" >&2; exit 2; }
runner=$(realpath "$1")
cd "$(dirname "$0")"

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

timed() { # what, command
    local what=$1 begun=$SECONDS
    shift
    echo "ci.sh: $what"
    "$@"
    echo "ci.sh: $what took $((SECONDS - begun)) s"
}

# Beside the next one; what it says comes when it is awaited.
beside=
side_log=build/ci-side.log
side_begins() { # what, command
    mkdir -p build
    timed "$@" > $side_log 2>&1 &
    beside=$!
}
side_ends() {
    local code=0
    wait "$beside" || code=$?
    beside=
    cat $side_log
    [ $code = 0 ] || exit $code
}
trap '[ -z "$beside" ] || kill "$beside" 2>/dev/null || true' EXIT

# Each transcript of the fixture provider beside the reference's, over stdio and over adb.
transcripts() {
    export STANDIN_REPORTS=$PWD/build/stdio-report/report.json:$PWD/build/standin-report/report.json
    (cd .. && cargo test --workspace --locked -q --test standin -- --ignored --nocapture)
}

timed "tests of the harness" mvn -q -B verify
timed "APKs" ./build.sh --built "${install[@]}"
command -v adb >/dev/null || {
    [ ${#install[@]} -gt 0 ] || { echo "ci.sh: missing: adb (--install installs it)" >&2; exit 1; }
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends adb
}
side_begins "both suites over adb" device-standin/suite.sh "$runner"
timed "the provider suite over stdio" "$runner" run --target device-standin/target.toml --report build/stdio-report --check-protocol
timed "the consumer suite over stdio" "$runner" run --target device-standin/consumer-target.toml --check-protocol
side_ends
timed "transcripts beside the reference's" transcripts
