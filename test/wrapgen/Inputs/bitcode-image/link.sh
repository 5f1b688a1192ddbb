# Links a program whose device image is bitcode, by LLVM's linker wrapper and by ours, and compares what the images define and declare.
#
#   link.sh TRIPLE LLVM_BIN DROPIN CUDA "COMPILE OPTIONS" "LINK OPTIONS"
#
# Prints what the image that ours made defines, without the host's part of entries; ends with 1 at a difference.
set -eu
triple=$1 bin=$2 dropin=$3 cuda=$4 compile=$5 link=$6
here=$(dirname "$0")
case $triple in
nvptx*) options="-Xopenmp-target -march=sm_75 -nogpulib --cuda-path=$cuda" ;;
amdgcn*) options="-Xopenmp-target -march=gfx90a -nogpulib" ;;
*) options= ;;
esac
for option in $compile; do
  case $option in -I* | -idirafter*) options="$options $option" ;; esac
done
options="$options -O2 -fopenmp -fopenmp-targets=$triple -fopenmp-target-jit"
for source in main helper; do
  "$bin/clang" $options -c "$here/$source.c" -o $source.o
done

# The registered image of a program, which must be there as bitcode and nothing else.
image() {
  "$bin/llvm-objdump" --offloading "$1" | grep '^kind' | tr -s ' ' > "$1.kinds"
  echo 'kind llvm ir' | diff - "$1.kinds"
  packager=$bin/llvm-offload-binary
  test -e "$packager" || packager=$bin/clang-offload-packager
  "$packager" "$1" --image=file="$1.bc",kind=openmp,triple="$triple"
  # Where a symbol is expected to be is left out: LLVM 19's linker and its linker wrapper tell LLVM differently.
  "$bin/llvm-dis" -o - "$1.bc" | sed -n '/^\(define\|declare\|@\)/ { s/dso_local //; p; }' > "$1.symbols"
}

"$bin/clang" -B "$dropin" $options main.o helper.o $link -o ours
image ours
case $("$bin/clang" -dumpversion)-$triple in
# Since LLVM 20 LLVM's own wrapper hands lld's option for this to the system's linker, which does not know it.
21.*-x86_64* | 22.*-x86_64*) ;;
*)
  "$bin/clang" $options main.o helper.o $link -o stock
  image stock
  diff stock.symbols ours.symbols
  ;;
esac
grep '^define\|^@total' ours.symbols
