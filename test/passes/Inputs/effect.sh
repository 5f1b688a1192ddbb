# Shows what passes do to the code that the optimiser then makes of a C program's first kernel.
#
# effect.sh LLVM_BIN PASSES SOURCE TRIPLE OUT BEFORE AFTER
#
# OUT.before.ll: the device code after O3, or after the passes BEFORE and O3. OUT.after.ll: after the passes AFTER and O3. `KERNEL` in both
# stands for the kernel's name. OUT.before.s, OUT.after.s: the machine code of the innermost body.
set -eu
llvm_bin=$1 passes=$2 source=$3 triple=$4 out=$5 before=$6 after=$7
amd_processor=gfx906
. "$(dirname "$0")/device-module.sh"

make() {
    pipeline=$(echo "${2:+$2,}default<O3>,verify" | sed "s/KERNEL/$kernel/")
    "$llvm_bin/opt" -load-pass-plugin "$passes" -passes="$pipeline" -S "$out.input.ll" -o "$out.$1.ll"
    "$llvm_bin/llvm-extract" -rfunc='omp_outlined[._]omp_outlined$' -S "$out.$1.ll" -o "$out.$1.body.ll"
    # Code for NVIDIA's GPUs is generated for one processor, whatever the functions say.
    cpu=$(sed -n 's/.*"target-cpu"="\([0-9a-z_-]*\)".*/\1/p' "$out.$1.ll" | head -n 1)
    "$llvm_bin/llc" -O3 "-mcpu=$cpu" "$out.$1.body.ll" -o "$out.$1.s"
}
make before "$before"
make after "$after"
