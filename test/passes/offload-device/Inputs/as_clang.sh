# Compares the kernels of a source: Clang's of its target regions with ours of its marked functions.
# Usage: as_clang.sh CLANG OPT PASSES SOURCE OUTPUT OPENMP_OPTIONS PLAIN_OPTIONS
set -eu
clang=$1 opt=$2 passes=$3 source=$4 output=$5 openmp_options=$6 plain_options=$7
inputs=$(dirname "$0")
common="-O2 -nogpulib -nogpuinc -fPIC -emit-llvm -S -Xclang -disable-llvm-passes"
# shellcheck disable=SC2086
{
  "$clang" $common -fopenmp $openmp_options --offload-device-only "$source" -o "$output.clang.ll"
  "$clang" $common $plain_options "$source" -o "$output.plain.ll" -Wno-unused-command-line-argument
}
# The clauses of the third region.
sed -i '/@third(/s/ {$/ "omp_target_num_teams"="4" "omp_target_thread_limit"="32" {/' "$output.plain.ll"
"$opt" -load-pass-plugin "$passes" -passes=offload-device,verify -S "$output.plain.ll" -o "$output.ours.ll"
for side in clang ours; do
  python3 "$inputs/kernel_form.py" "$output.$side.ll" > "$output.$side"
done
diff "$output.clang" "$output.ours"
