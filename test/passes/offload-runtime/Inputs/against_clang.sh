#!/bin/bash
# Compiles user.c with Clang's -mlink-builtin-bitcode and by offload-runtime, for many pairs of options, and compares the modules.
# usage: against_clang.sh CLANG OPT PLUGIN FOLDER TARGET-OPTION...
set -euo pipefail
clang=$1 opt=$2 plugin=$3 folder=$4
shift 4
inputs=$(dirname "$0")
compile="$clang $* -nogpulib -Wno-linker-warnings -Xclang -disable-llvm-passes -emit-llvm"
flush="-Xclang -fdenormal-fp-math-f32=preserve-sign"
# Clang gives a library's functions also those features of an AMD processor that it never writes on its own functions.
implied="+gws +image-insts +vmem-to-lds-load-insts"
# Clang 23 writes none of them on its own, since the processor says it all.
case "$* $("$clang" -dumpversion)" in *amdgcn*" 23."*) implied=all ;; esac
mkdir -p "$folder"
cd "$folder"
for library in "-O0" "-O2 -fdenormal-fp-math=dynamic" "-O2 $flush"; do
  $compile $library -c "$inputs/library.c" -o library.bc
  for user in "-O0" "-Os" "-O2 -ffast-math" "-O2 -fdenormal-fp-math=preserve-sign" "-O2 $flush" "-O2 -fno-omit-frame-pointer"; do
    $compile $user -c "$inputs/user.c" -o alone.bc
    $compile $user -S "$inputs/user.c" -Xclang -mlink-builtin-bitcode -Xclang library.bc -o clang.ll
    "$opt" -discard-value-names -load-pass-plugin "$plugin" -passes='offload-runtime<bitcode=library.bc>,verify' alone.bc -S -o ours.ll
    echo "library $library, user $user:"
    python3 "$inputs/same_module.py" clang.ll ours.ll $implied
  done
done
