# A shared library from one source without pragmas, as docs/user/markers.md says: source, number, output, what the link gets.
# The environment: CLANG, OPT, WRAPGEN, PASSES, INCLUDE, DROPIN.
set -e
source=$1 number=$2 output=$3
shift 3
$CLANG -O1 -Xclang -disable-llvm-passes -fPIC -I"$INCLUDE" -DNUMBER="$number" -emit-llvm -c "$source" -o "$output.both.bc"
$OPT -load-pass-plugin "$PASSES" -passes='offload-host,default<O2>' "$output.both.bc" -o "$output.host.bc"
$OPT -load-pass-plugin "$PASSES" -passes="offload-device-module<host-ir=$output.host.bc>,default<O2>" "$output.both.bc" -o "$output.device.bc"
$CLANG -O2 -fPIC -c "$output.device.bc" -o "$output.device.o"
$WRAPGEN pack -o "$output.images" --image=file="$output.device.o",triple=x86_64-pc-linux-gnu,kind=openmp
$CLANG -O2 -fPIC -c "$output.host.bc" -Xclang -fembed-offload-object="$output.images" -o "$output.o"
$CLANG -B "$DROPIN" --offload-link -shared "$output.o" -o "$output" "$@" -lomptarget
