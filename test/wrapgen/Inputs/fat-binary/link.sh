# Links a program of CUDA or HIP by LLVM's linker wrapper and by ours, and compares what each embedded and printed.
#
#   link.sh LANGUAGE LLVM_BIN DROPIN CUDA
#
# Leaves LANGUAGE.o and runtime.o; prints what the program registers.
set -eu
language=$1 bin=$2 dropin=$3 cuda=$4
here=$(dirname "$0")

# LLVM 19 names images in a way that the `fatbinary` of CUDA 13 no longer takes.
mkdir -p cuda/bin
ln -sf "$cuda"/bin/* cuda/bin/
ln -sfn "$cuda/include" cuda/include
ln -sfn "$cuda/nvvm" cuda/nvvm
rm cuda/bin/fatbinary
cat > cuda/bin/fatbinary <<END
#!/bin/bash
exec $cuda/bin/fatbinary "\${@/#--image=profile=sm_/--image3=kind=elf,sm=}"
END
chmod +x cuda/bin/fatbinary
# LLVM 22 does not tell its device link where CUDA is.
PATH=$PWD/cuda/bin:$PATH

case $language in
cuda) options="-nocudainc -nocudalib --cuda-path=cuda --offload-arch=sm_75 --offload-arch=sm_80" bundle=fatbin ;;
hip) options="-nogpuinc -nogpulib --offload-arch=gfx90a --offload-arch=gfx942" bundle=hipfb ;;
esac
"$bin/clang++" -x "$language" -O2 -fgpu-rdc --offload-new-driver $options -c "$here/kernels.cu" -o "$language.o"
"$bin/clang++" -O2 -c "$here/main.cpp" -o main.o
"$bin/clang++" -O2 -c "$here/runtime.cpp" -o runtime.o

# The commands are printed by a link of their own: `nvlink` notes in its output whether it was to be verbose.
link() {
  folder=$1
  mkdir -p "$folder"
  shift
  set -- "$bin/clang++" "$@" --offload-link --cuda-path=cuda -Wl,--save-temps "$language.o" main.o runtime.o -o "$language-program"
  "$@" -Wl,--wrapper-verbose 2> "$folder/commands"
  "$@" -Wl,--print-wrapped-module 2> "$folder/module"
  mv "$language-program"* "$folder"
  "$folder/$language-program" > "$folder/printed"
}
link stock
link ours -B "$dropin"

# The tool that makes the fat binary gets the same images in the same order, but for the two spellings of CUDA's.
tool() {
  sed -n 's/^ "[^"]*\(fatbinary\|clang-offload-bundler\)" /\1 /p' "$1/commands" |
    sed 's/--image=profile=sm_/--image3=kind=elf,sm=/g
      s/program\.nvptx64\./program.nvptx64-nvidia-cuda./g
      s/program\.amdgcn\./program.amdgcn-amd-amdhsa./g'
}
diff <(tool stock) <(tool ours)
test -n "$(tool ours)"

# The registration module, without the bytes and the size of the fat binary.
module() {
  sed -n '/^; ModuleID/,$ { s/^\(@.fatbin_image = .* constant\) .* c".*"/\1/; p; }' "$1/module"
}
diff <(module stock) <(module ours)
test -n "$(module ours)"

# LLVM 19 compiles and links for AMD in two programs, with another order of functions.
bundled() {
  "$bin/clang-offload-bundler" -list -type=o -input="$1/$language-program.$bundle"
}
case $("$bin/clang" -dumpversion)-$language in
19.*-hip) diff <(bundled stock) <(bundled ours) ;;
*) cmp "stock/$language-program.$bundle" "ours/$language-program.$bundle" ;;
esac

diff stock/printed ours/printed
cat ours/printed
