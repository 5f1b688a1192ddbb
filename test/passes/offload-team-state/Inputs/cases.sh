# Compiles each case of SOURCE for an NVIDIA GPU as Clang does without link-time optimisation, with the device runtime RUNTIME in it, and prints whether
# the pass warns and what becomes of the function `f`.
#
# cases.sh LLVM_BIN PASSES RUNTIME SOURCE OUT
set -eu
llvm_bin=$1 passes=$2 runtime=$3 source=$4 out=$5

# try CASE OPTION...: leaves the optimised module, and says whether there was a warning.
try() {
  "$llvm_bin/clang" -O2 -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda --offload-arch=sm_75 --cuda-feature=+ptx63 -nogpulib --offload-device-only \
    -Wno-unused-command-line-argument -Wno-openmp-target -Xclang -disable-llvm-passes -S -emit-llvm "-D$1" "${@:2}" "$source" -o "$out.ll"
  "$llvm_bin/opt" -load-pass-plugin "$passes" -passes="offload-runtime<bitcode=$runtime>,offload-team-state" "$out.ll" -o "$out.bc" 2> "$out.warnings"
  "$llvm_bin/opt" -passes='default<O2>' -S "$out.bc" -o "$out.optimized.ll"
  warned=silent
  if [ -s "$out.warnings" ]; then
    grep -q "'f' uses the OpenMP runtime of its own file" "$out.warnings"
    warned=warned
  fi
}

# Whether `f` returns, and comes to none of the state of a team, by itself or by what is left of the runtime.
judge() {
  "$llvm_bin/llvm-extract" --recursive --func=f -S "$out.optimized.ll" -o "$out.f.ll"
  if sed -n '/^define .*@f(/,/^}/p' "$out.f.ll" | grep -q '^ *ret ' &&
    ! grep -q '^@.*\(4ompx\|SharedMemorySmartStack\).* addrspace(3)' "$out.f.ll"; then
    echo right
  else
    echo wrong
  fi
}

for case in NOTHING ARRAY OTHER_FILE SAME_FILE HELPER THREAD TEAM PARALLEL LOOP; do
  try $case
  echo "$case: $warned, $(judge)"
done
for case in NOTHING ARRAY OTHER_FILE THREAD; do
  try $case -DBESIDE
  echo "$case beside a kernel: $warned, $(judge)"
done
try ARRAY -DUNDER
echo "ARRAY under a kernel: $warned"
