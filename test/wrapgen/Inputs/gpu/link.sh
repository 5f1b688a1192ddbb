# Links programs for a GPU by LLVM's linker wrapper and by ours, and compares the device images.
#
#   link.sh TRIPLE PROCESSOR LLVM_BIN DROPIN CUDA "COMPILE OPTIONS" "LINK OPTIONS" SOURCE_ROOT DEVICE_RUNTIME_FOLDER
#
# Prints a line for each comparison; ends with 1 at the first difference.
set -eu
triple=$1 processor=$2 bin=$3 dropin=$4 cuda=$5 link_options=$7 root=$8 runtimes=$9
here=$root/wrapgen/Inputs
packager=$bin/llvm-offload-binary
test -e "$packager" || packager=$bin/clang-offload-packager
offload="-O2 -fopenmp -fopenmp-targets=$triple -Xopenmp-target=$triple -march=$processor"
# Clang 19 cannot read that header of Debian 13's C library for them.
test "$triple" != nvptx64-nvidia-cuda || offload="$offload --cuda-path=$cuda -Xopenmp-target=$triple -D_BITS_FLOATN_H"
for option in $6; do
  case $option in -I*) offload="$offload $option" ;; esac
done

# A device runtime: LLVM's own, or the one of the tests where there is none. Nobody has AMD's library of mathematics.
compile= link= rtl= relocatable= mixed=yes
case $triple in
amdgcn*) compile=-nogpulib target="-mcpu=$processor" ;;
*) target="-march=$processor -Xclang -target-feature -Xclang +ptx63" ;;
esac
mkdir -p runtime
for library in runtime mathematics; do
  "$bin/clang" --target="$triple" $target -O2 -nogpulib -ffreestanding -fvisibility=hidden -w -emit-llvm \
    -c "$here/gpu/device-$library.c" -o runtime/$library.bc
done
case $("$bin/clang" -dumpversion)-$triple in
19.*-nvptx*)
  relocatable="-L$runtimes -lomptarget.devicertl"
  rtl=--libomptarget-nvptx-bc-path=$runtimes/libomptarget-nvptx-$processor.bc
  ;;
19.*)
  relocatable="-L$runtimes -lomptarget.devicertl"
  "$packager" -o runtime/packed --image=file=runtime/mathematics.bc,triple="$triple",arch="$processor",kind=openmp
  echo > runtime/empty.c
  "$bin/clang" -c runtime/empty.c -Xclang -fembed-offload-object=runtime/packed -o runtime/mathematics.o
  link=runtime/mathematics.o
  ;;
*)
  rm -f runtime/lib*.a
  link="-Xoffload-linker -Lruntime"
  case $triple in nvptx*) mixed=no ;; esac
  if test -e "$bin/../lib/$triple/libompdevice.a"; then
    "$bin/llvm-ar" rcs runtime/libmathematics.a runtime/mathematics.bc
    case $triple in amdgcn*) link="$link -Xoffload-linker -lmathematics" ;; esac
  else
    "$bin/llvm-ar" rcs runtime/libompdevice.a runtime/runtime.bc runtime/mathematics.bc
    case $triple in nvptx*) rtl=--libomptarget-nvptx-bc-path=runtime/runtime.bc ;; esac
  fi
  ;;
esac

# The device images in a linked file, as they are registered.
images() {
  section=.llvm.offloading
  "$bin/llvm-readelf" -SW "$1" | grep -q "$section.relocatable" && section=$section.relocatable
  "$bin/llvm-objcopy" --dump-section "$section=$2" "$1" /dev/null
}

# Names, kinds and sizes of what an image defines, and its sections.
outline() {
  "$packager" "$1" --image=file="$1.image",kind=openmp,triple="$triple" 2> /dev/null
  "$bin/llvm-readelf" -sW "$1.image" | awk '$4 ~ /FUNC|OBJECT/ { print $3, $4, $5, $6, $8 }' | sort
  "$bin/llvm-readelf" -SW "$1.image" | sed -n 's/^ *\[ *[0-9]*\] \([._a-z]*\) .*/\1/p' | sort
}

compare() {
  name=$1
  shift
  "$bin/clang++" $offload "$@" $link_options -o stock
  "$bin/clang++" -B "$dropin" $offload "$@" $link_options -o ours
  images stock stock.images
  images ours ours.images
  if cmp -s stock.images ours.images; then
    echo "$name: same bytes"
  else
    outline stock.images > stock.outline
    outline ours.images > ours.outline
    diff stock.outline ours.outline
    test -s ours.outline
    echo "$name: same symbols"
  fi
}

for mode in native bitcode; do
  lto=
  # Bitcode is linked with the runtime later.
  test $mode = native || lto=-foffload-lto rtl=
  mkdir -p $mode
  for source in "$root"/workloads/{zaxpy,docking,phase-field}/*.cpp "$here"/{program,library}.cpp; do
    object=$mode/$(basename "$(dirname "$source")")-$(basename "$source" .cpp).o
    "$bin/clang++" $offload $lto $compile $rtl -w -I "$root/workloads/common" -c "$source" -o "$object"
  done
  rm -f $mode/liblibrary.a
  "$bin/llvm-ar" rcs $mode/liblibrary.a $mode/Inputs-library.o
  compare "zaxpy, $mode" $lto $link $mode/zaxpy-*.o
  cp ours zaxpy-$mode
  compare "docking, $mode" $lto $link $mode/docking-*.o
  compare "phase-field, $mode" $lto $link $mode/phase-field-*.o
  compare "archive, $mode" $lto $link $mode/Inputs-program.o -L$mode -llibrary
  compare "relocatable, $mode" $lto $link -r $relocatable $mode/zaxpy-*.o
done
# LLVM 22's own link of these two for NVIDIA GPUs drops the part of the runtime that only the object calls.
test "$mixed" = no || compare "mixed" -foffload-lto $link bitcode/Inputs-program.o native/Inputs-library.o
