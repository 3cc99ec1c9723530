#!/bin/bash
# Runs the suite against the stand-in for a device, the way it goes with a real one: through Debian's adb server and the
# runner's adapter for adb. Everything is its own: the server listens on a port of its own, and all of it ends with this
# script.
#
#   device-standin/suite.sh CETP-CONFORMANCE [arguments for its "run", instead of both whole suites]
#
# Both Maven (mvn -q -B install -DskipTests) and build.sh have to have run before.
set -euo pipefail
runner=$(realpath "$1")
shift
cd "$(dirname "$0")"
targets="adb-target.toml adb-consumer-target.toml"

work=$(mktemp -d)
export HOME=$work # adb keeps its key there
unset ADB_SERVER_SOCKET ANDROID_SERIAL
# A port that nobody listens on.
ANDROID_ADB_SERVER_PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export ANDROID_ADB_SERVER_PORT
mkfifo "$work/stdin"
device=
finish() {
    adb kill-server >/dev/null 2>&1 || true
    exec 9>&- # the stand-in ends with its stdin
    [ -z "$device" ] || wait "$device" || true
    rm -rf "$work"
}
trap finish EXIT

./standin.sh adb 0 < "$work/stdin" > "$work/stdout" 2> "$work/stderr" &
device=$!
exec 9> "$work/stdin"
for _ in $(seq 600); do
    port=$(sed -n 's/^listening on 127\.0\.0\.1://p' "$work/stdout")
    [ -z "$port" ] || break
    kill -0 "$device" 2>/dev/null || break
    sleep 0.2
done
if [ -z "$port" ]; then
    echo "suite.sh: the stand-in does not come up:" >&2
    tail -20 "$work/stderr" >&2
    exit 1
fi
adb start-server >/dev/null 2>&1
connected=$(adb connect "127.0.0.1:$port")
case $connected in
    "connected to "*) ;;
    *) echo "suite.sh: adb: $connected" >&2; exit 1 ;;
esac

"$runner" android devices
for target in $targets; do
    "$runner" android install "$target"
    "$runner" android doctor "$target"
done
if [ $# -gt 0 ]; then
    "$runner" run "$@"
else
    "$runner" run --target adb-target.toml --baseline adb-baseline.toml --report ../build/standin-report --check-protocol
    "$runner" run --target adb-consumer-target.toml --report ../build/standin-consumer-report --check-protocol
    # How many went over the Binder, and how: the runs have to have used the app.
    grep -o 'calls of the scripted provider: {.*CARRIED=[1-9].*}' "$work/stderr" | tail -1 || {
        echo "suite.sh: the scripted provider was not called" >&2
        exit 1
    }
fi
