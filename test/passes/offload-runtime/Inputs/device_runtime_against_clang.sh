#!/bin/bash
# Compiles an OpenMP program for a GPU, without optimising, with the device runtime linked by Clang and by offload-runtime, and compares
# the modules.
# usage: device_runtime_against_clang.sh CLANG++ OPT PLUGIN SOURCE FOLDER TRIPLE ARCHITECTURE RUNTIME
set -euo pipefail
clang=$1 opt=$2 plugin=$3 source=$4 folder=$5 triple=$6 architecture=$7 runtime=$8
inputs=$(dirname "$0")
mkdir -p "$folder"
cd "$folder"
# Clang 19 cannot read this header of Debian 13's C library for NVIDIA GPUs.
without_header="-Xopenmp-target=$triple -D_BITS_FLOATN_H"
for level in -O0 -O2; do
  compile="$clang $level -fopenmp -fopenmp-targets=$triple -Xopenmp-target=$triple -march=$architecture $without_header -nogpulib
    --offload-device-only -Wno-linker-warnings -Xclang -disable-llvm-passes -emit-llvm $source"
  $compile -c -o alone.bc
  $compile -S -Xclang -mlink-builtin-bitcode -Xclang "$runtime" -o clang.ll
  for passes in "offload-runtime<bitcode=$runtime>" "offload-runtime<bitcode=$runtime>,offload-runtime<bitcode=$runtime>"; do
    "$opt" -discard-value-names -load-pass-plugin "$plugin" -passes="$passes,verify" alone.bc -S -o ours.ll
    python3 "$inputs/same_module.py" clang.ll ours.ll +gws +image-insts > same.txt
  done
  cat same.txt
done
