#!/bin/sh
# Runs the stand-in over stdin and stdout, from what Maven has built:
#   mvn -q -B install -DskipTests   (in the folder above; once)
#   ./standin.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# The classes of the stand-in come first; class-path.txt has everything else.
[ -f "$here/target/class-path.txt" ] || { echo "build android-harness with Maven first" >&2; exit 1; }
exec java -Xss16m --add-opens java.base/java.io=ALL-UNNAMED -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
    -Drobolectric.offline=true -Drobolectric.dependency.dir="$here/target/frameworks" \
    -cp "$here/target/test-classes:$(cat "$here/target/class-path.txt")" org.cetp.standin.StandinStdio
