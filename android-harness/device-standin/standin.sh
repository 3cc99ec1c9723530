#!/bin/sh
# Runs the stand-in for a device, from what Maven has built (mvn -q -B install -DskipTests in the folder above, once):
#   ./standin.sh              the target protocol on stdin and stdout: the driver, and the fixture behind it
#   ./standin.sh consumer     the same with the example consumer, whose providers the host plays at its platform
#   ./standin.sh scripted     the same, with one of them an app that the consumer calls over the Binder
#   ./standin.sh adb [PORT]   a device for "adb connect 127.0.0.1:PORT"; it prints its port and ends with its stdin
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ -f "$here/target/class-path.txt" ] || { echo "build android-harness with Maven first" >&2; exit 1; }
program=StandinStdio
if [ "${1:-}" = adb ]; then
    program=StandinAdb
    shift
fi
exec java -Xss16m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 --add-opens java.base/java.io=ALL-UNNAMED \
    -Drobolectric.offline=true -Drobolectric.dependency.dir="$here/target/frameworks" \
    -cp "$here/target/test-classes:$(cat "$here/target/class-path.txt")" "org.cetp.standin.$program" "$@"
