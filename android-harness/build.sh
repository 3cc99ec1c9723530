#!/bin/bash
# Makes the signed APKs of the harness, from a fresh machine and without an Android SDK:
#
#   android-harness/build.sh            builds into android-harness/build/
#   android-harness/build.sh --install  installs Debian's packages that are missing, first
#   android-harness/build.sh --built    does without compiling: Maven has just done it
#
# It needs a JDK of 17 or later and Maven, and from Debian aapt, apksigner and zipalign. The framework to compile against
# and the dexer come from Maven Central. Keys are throwaway: they are made at the first build and kept in build/keys, so
# that a later build can be installed over an earlier one. What was built is checked at the end.
set -euo pipefail
cd "$(dirname "$0")"

out=build
keys=$out/keys
lib=$out/lib
android_version=$(sed -n 's:.*<android.version>\(.*\)</android.version>.*:\1:p' pom.xml)
dexer_version=14.0.0_r21
min_sdk=26
target_sdk=34

install=
built=
for option in "$@"; do
    case $option in
        --install) install=yes ;;
        --built) built=yes ;;
        *) echo "build.sh: there is no option $option" >&2; exit 2 ;;
    esac
done

say() { echo "build.sh: $*"; }
fail() { echo "build.sh: $*" >&2; exit 1; }
# The runners of CI services are no root.
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

# --- tools ------------------------------------------------------------------------------------------------------------

missing=()
for tool in aapt apksigner zipalign; do
    command -v $tool >/dev/null || missing+=($tool)
done
command -v mvn >/dev/null || missing+=(maven)
command -v javac >/dev/null || missing+=(openjdk-17-jdk-headless)
if [ ${#missing[@]} -gt 0 ]; then
    [ -n "$install" ] || fail "missing: ${missing[*]} (Debian packages; --install installs them)"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

# --- classes ----------------------------------------------------------------------------------------------------------

if [ -z "$built" ]; then
    say "compiling"
    modules=strict-json,bundle-codec,cetp-provider,fixture-provider,driver,scripted-provider,consumer-shim,consumer-example
    mvn -q -B package -DskipTests -pl $modules >&2
fi
mkdir -p $lib $keys
fetch() { # coordinates file
    [ -f "$lib/$2" ] || mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -N \
        "-Dartifact=$1" -DoutputDirectory="$PWD/$lib" -Dmdep.stripVersion=true
}
fetch "org.robolectric:android-all:$android_version" android-all.jar
fetch "com.jakewharton.android.repackaged:dalvik-dx:$dexer_version" dalvik-dx.jar

# --- keys -------------------------------------------------------------------------------------------------------------

key() { # name
    [ -f "$keys/$1.p12" ] || keytool -genkeypair -keystore "$keys/$1.p12" -storetype PKCS12 -storepass throwaway \
        -alias key -keyalg RSA -keysize 2048 -validity 3650 -dname "CN=CETP harness $1, O=throwaway" 2>/dev/null
}
digest() { # name: SHA-256 of the certificate, as Android reckons it
    keytool -exportcert -keystore "$keys/$1.p12" -storepass throwaway -alias key 2>/dev/null | sha256sum | cut -d' ' -f1
}
key driver-a
key driver-b
key fixture
key consumer
key scripted
driver_sha256=$(digest driver-a)

# --- apps -------------------------------------------------------------------------------------------------------------

# app NAME KEY MANIFEST "MODULES" [sed expressions for the manifest]
app() {
    local name=$1 key=$2 manifest=$3 modules=$4
    shift 4
    local work=$out/$name
    say "$name.apk"
    rm -rf "$work" "$out/$name.apk"
    mkdir -p "$work/manifest" "$work/classes"
    local edits=(-e "s/@DRIVER_SHA256@/$driver_sha256/g")
    for edit in "$@"; do edits+=(-e "$edit"); done
    sed "${edits[@]}" "$manifest" > "$work/manifest/AndroidManifest.xml"
    ! grep -n '@[A-Z_0-9]*@' "$work/manifest/AndroidManifest.xml" || fail "$name: the manifest is not filled in"
    aapt package -f -M "$work/manifest/AndroidManifest.xml" -I $lib/android-all.jar -F "$work/unaligned.apk"
    if [ -n "$modules" ]; then
        for module in $modules; do
            (cd "$work/classes" && jar -xf "../../../$module/target/$module-1.0.0.jar" && rm -rf META-INF)
        done
        # 25 and not 26: from 26 on the dexer lets through what javac makes of a lambda, and no Android that old has
        # the class that would run it.
        java -cp $lib/dalvik-dx.jar com.android.dx.command.Main --dex --min-sdk-version=25 \
            --output="$work/classes.dex" "$work/classes"
        (cd "$work" && aapt add unaligned.apk classes.dex >/dev/null)
        (cd "$work/classes" && find . -type f ! -name '*.class' -printf '%P\n' \
            | xargs -r aapt add ../unaligned.apk >/dev/null)
    fi
    zipalign -p 4 "$work/unaligned.apk" "$out/$name.apk"
    apksigner sign --ks "$keys/$key.p12" --ks-pass pass:throwaway --min-sdk-version $min_sdk "$out/$name.apk"
    rm -f "$out/$name.apk.idsig"
    check "$name" "$key"
}

# --- checks: what a device would look at -----------------------------------------------------------------------------

check() { # name key
    local name=$1 apk=$out/$1.apk work=$out/$1
    zipalign -c -p 4 "$apk" >/dev/null || fail "$name: not aligned"
    apksigner verify --min-sdk-version $min_sdk --print-certs "$apk" > "$work/signature.txt" || fail "$name: not signed"
    grep -q "SHA-256 digest: $(digest "$2")" "$work/signature.txt" || fail "$name: signed by another key"
    aapt dump badging "$apk" > "$work/badging.txt" || fail "$name: cannot be read"
    grep -q "^sdkVersion:'$min_sdk'" "$work/badging.txt" || fail "$name: another minSdkVersion"
    grep -q "^targetSdkVersion:'$target_sdk'" "$work/badging.txt" || fail "$name: another targetSdkVersion"
    aapt dump xmltree "$apk" AndroidManifest.xml > "$work/manifest.txt"
    if [ -f "$work/classes.dex" ]; then
        java -cp $lib/dalvik-dx.jar tools/DexClasses.java "$work/classes.dex" | sort > "$work/classes.txt"
        # Every component of the manifest has to be there.
        awk '/ E: / { component = /E: (service|provider|activity|instrumentation) / }
             component && /A: android:name\(/ { split($0, part, "\""); print part[2]; component = 0 }' \
            "$work/manifest.txt" | sort -u > "$work/components.txt"
        comm -23 "$work/components.txt" "$work/classes.txt" > "$work/absent.txt"
        [ ! -s "$work/absent.txt" ] || fail "$name: in the manifest and not in the dex: $(tr '\n' ' ' < "$work/absent.txt")"
        [ -s "$work/components.txt" ] || fail "$name: no component was found in the manifest"
    fi
}

driver="strict-json bundle-codec driver"
# Two at a time: most of it is programs that start and end.
begun=()
side() {
    if [ ${#begun[@]} -ge 2 ]; then
        wait "${begun[0]}" || exit 1
        begun=("${begun[@]:1}")
    fi
    app "$@" &
    begun+=($!)
}
side driver-a driver-a driver/src/main/AndroidManifest.xml "$driver" \
    's/@CALLER@/a/g' 's/@SHARED_USER_ID@/android:sharedUserId="org.cetp.driver.shared"/'
side driver-b driver-b driver/src/main/AndroidManifest.xml "$driver" 's/@CALLER@/b/g' 's/@SHARED_USER_ID@//'
side fixture-provider fixture fixture-provider/src/main/AndroidManifest.xml "strict-json cetp-provider fixture-provider"
side scripted-provider scripted scripted-provider/src/main/AndroidManifest.xml "$driver cetp-provider scripted-provider"
side consumer-example consumer consumer-example/src/main/AndroidManifest.xml "$driver consumer-shim consumer-example"
side driver-a-second driver-a driver/src/main/SecondPackageManifest.xml ""
for each in "${begun[@]}"; do wait "$each" || exit 1; done

# §2.1: what the compiler made of the version fields decides what a consumer sees.
manifest=$out/fixture-provider/manifest.txt
grep -A2 'com.clawseed.tools.version"' $manifest | grep -q '(type 0x10)0x1' || fail "fixture: version is not the Int 1"
grep -A2 'com.clawseed.tools.versions"' $manifest | grep -q '="1,2"' || fail "fixture: versions is not the String 1,2"
grep -q "$driver_sha256" $manifest || fail "fixture: the driver's certificate is not in the manifest"
for driver_app in a b; do
    grep -q "=\"org.cetp.driver.$driver_app\"" $manifest || fail "fixture: driver $driver_app is not under <queries>"
done
aapt list $out/fixture-provider.apk | grep -qx org/cetp/fixture/fixture-tools.json || fail "fixture: no tool descriptors"
grep -q '="org.example.p.tools"' $out/scripted-provider/manifest.txt || fail "scripted provider: another authority"
aapt list $out/driver-a.apk | grep -qx org/cetp/driver/callers.json || fail "driver: no callers"

say "done"
ls -l $out/*.apk | awk '{print "  " $5, $9}'
