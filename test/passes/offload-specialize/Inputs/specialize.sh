# Compiles a source with one target region for a device and specialises its kernel.
#
# specialize.sh LLVM_BIN PASSES SOURCE TRIPLE OUT PASS ITEMS
#
# OUT.before.ll: the innermost body as Clang and O3 make it. OUT.module.ll: the module after PASS, with the descriptor's ITEMS.
# OUT.after.ll: the innermost body after PASS and O3.
set -eu
llvm_bin=$1 passes=$2 source=$3 triple=$4 out=$5 pass=$6 items=$7
amd_processor=gfx90a
. "$(dirname "$0")/../../Inputs/device-module.sh"

# Since LLVM 23, a GPU's kernel has the launch environment as its last parameter, where the descriptor's numbers are for it as the first.
case $triple,$("$llvm_bin/llvm-config" --version) in
nvptx64*,2[3-9].* | amdgcn*,2[3-9].*)
    items=$(printf '%s\n' "$items" | tr ';' '\n' | awk -F= -v OFS== '$1 ~ /^[0-9]+$/ { $1 -= 1 } { print }' | paste -sd ';')
    ;;
esac

optimize() {
    "$llvm_bin/opt" -passes='default<O3>,verify' -S "$1" -o "$out.optimized.ll"
    "$llvm_bin/llvm-extract" -rfunc='omp_outlined[._]omp_outlined$' -S "$out.optimized.ll" -o "$2"
}

"$llvm_bin/opt" -load-pass-plugin "$passes" -passes=offload-internalize -S "$out.input.ll" -o "$out.internal.ll"
optimize "$out.internal.ll" "$out.before.ll"
"$llvm_bin/opt" -load-pass-plugin "$passes" -passes="$pass<descriptor=kernel=$kernel;arch=any;$items>,verify" -S "$out.internal.ll" \
    -o "$out.module.ll"
optimize "$out.module.ll" "$out.after.ll"

# The machine code of both bodies.
for body in before after; do
    "$llvm_bin/llc" -O3 "$out.$body.ll" -o "$out.$body.s"
done
