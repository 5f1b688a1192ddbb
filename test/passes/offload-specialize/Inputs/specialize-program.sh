# Builds a C program for the x86_64 device twice: with its device code as it is, and with all of its kernels specialised.
#
# specialize-program.sh LLVM_BIN DIST SOURCE OUT ITEMS OPTION...
#
# ITEMS are the descriptors'. OPTIONs are for compiling and linking. OUT.plain and OUT.specialized are the programs.
set -eu
llvm_bin=$1 dist=$2 source=$3 out=$4 items=$5
shift 5

"$llvm_bin/clang" -O3 "$@" --offload-host-only -c -emit-llvm "$source" -o "$out.host.bc"
"$llvm_bin/clang" -O3 "$@" --offload-device-only -c -emit-llvm -Xclang -disable-llvm-passes "$source" -o "$out.device.bc"
build() {
    "$llvm_bin/opt" -load-pass-plugin "$dist/lib/liboffloom_passes.so" -passes="$passes,verify,default<O3>" "$out.device.bc" -o "$out.$1.bc"
    "$llvm_bin/clang" -O3 -Wno-override-module -Wno-unused-command-line-argument -Xclang -disable-llvm-passes -fPIC -c "$out.$1.bc" \
        -o "$out.$1.device.o"
    "$dist/bin/wrapgen" pack -o "$out.$1.offload" --image="file=$out.$1.device.o,triple=x86_64-pc-linux-gnu,arch=generic,kind=openmp"
    "$llvm_bin/clang" -O3 "$options" -c -Xclang "-fembed-offload-object=$out.$1.offload" "$out.host.bc" -o "$out.$1.o"
}
options=-Wno-unused-command-line-argument
passes=offload-internalize
build plain
for kernel in $("$llvm_bin/llvm-nm" --defined-only "$out.device.bc" | sed -n 's/.* \(__omp_offloading_[0-9a-z_]*\)$/\1/p'); do
    passes="$passes,offload-specialize<mode=source;descriptor=kernel=$kernel;arch=any;$items>"
done
build specialized
for program in plain specialized; do
    "$llvm_bin/clang" -B "$dist/libexec/offloom" "$@" "$out.$program.o" -o "$out.$program"
done
