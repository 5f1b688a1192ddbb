# Runs functions compiled ahead of time, and compiled for this machine's processor with an argument that became a constant.
#
# compare.sh LLVM_BIN PASSES SOURCE OUT PROCESSOR [OPTION...]
#
# A function's name says what it is specialised to: `sum_arg1_i32_17` gets 17 as its argument 1. PROCESSOR is that of the ahead-of-time
# code, or the baseline where this machine is no x86-64-v3. OUT.match and OUT.source list the functions whose results are other than ahead of time, by mode; `--none--` is the last line.
# The functions are compiled with the options.
set -eu
llvm_bin=$1 passes=$2 source=$3 out=$4 processor=$5
grep -qw avx2 /proc/cpuinfo || processor=x86-64

"$llvm_bin/clang" -O3 -march="$processor" -fopenmp-simd -ffp-contract=on -Xclang -disable-llvm-passes -c -emit-llvm "${@:6}" \
    "$source" -o "$out.bc"
"$llvm_bin/clang" -O3 -DMAIN -fopenmp-simd -c "$source" -o "$out.main.o"
specialize() {
    "$llvm_bin/llvm-dis" "$out.bc" -o - |
        sed -n "s/^define .*@\([a-z0-9_]*_arg\([0-9]\)_\([a-z0-9]*\)_\([0-9a-fx]*\)\)(.*/offload-specialize<mode=$1;descriptor=kernel=\1;arch=any;\2=\3:\4>/p" |
        paste -sd, -
}
# build NAME PASSES [OPTION...]
build() {
    "$llvm_bin/opt" "${@:3}" -load-pass-plugin "$passes" -passes="$2" "$out.bc" -o "$out.$1.bc"
    "$llvm_bin/clang" -O3 -Xclang -disable-llvm-passes -c "$out.$1.bc" -o "$out.$1.o"
    "$llvm_bin/clang" "$out.$1.o" "$out.main.o" -lm -o "$out.$1.exe"
    "$out.$1.exe" >"$out.$1.results"
}
build aot 'default<O3>'
wide="offload-retarget<cpu=native>"
build match "offload-match-bits,$(specialize match),$wide,verify,default<O3>" -force-ordered-reductions # as the JIT's worker
build source "$(specialize source),$wide,verify,default<O3>"
for mode in match source; do
    { diff "$out.aot.results" "$out.$mode.results" | sed -n 's/^> \([a-z0-9_]*\) .*/\1/p' && echo --none--; } >"$out.$mode"
done
