# Makes kernels of random functions.
# Usage: random.sh LLVM_BIN PASSES OUTPUT TRIPLE
set -eu
llvm_bin=$1 passes=$2 output=$3 triple=$4
for seed in $(seq 1 25); do
  {
    echo "target triple = \"$triple\""
    "$llvm_bin/llvm-stress" -seed="$seed" -size=300 | sed '/^define/s/ {$/ section ".offload.kernel" {/'
  } > "$output.ll"
  "$llvm_bin/opt" -load-pass-plugin "$passes" -passes=offload-device,verify -S < "$output.ll" > "$output.once.ll"
  grep -q '@__omp_offloading_0_0_autogen_SD[0-9]*_l0(' "$output.once.ll"
  "$llvm_bin/opt" -load-pass-plugin "$passes" -passes=offload-device,verify -S < "$output.once.ll" | diff "$output.once.ll" -
done
