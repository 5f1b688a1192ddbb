# Sourced by scripts that show what passes do. Compiles $source for the device $triple, for AMD's GPUs the processor $amd_processor, with the
# compiler of $llvm_bin and none of LLVM's passes, to $out.input.ll; $kernel is the name of its first kernel.

case $triple in
nvptx64*) processor="-Xopenmp-target=$triple -march=sm_70 --cuda-feature=+ptx63" ;;
amdgcn*) processor="-Xopenmp-target=$triple -march=$amd_processor" ;;
*) processor= ;;
esac
language=c
case $source in *.cpp) language=c++ ;; esac
# shellcheck disable=SC2086
"$llvm_bin/clang" -x $language -O3 -fno-exceptions -fopenmp "-fopenmp-targets=$triple" $processor -nogpulib --offload-device-only \
    -Wno-unused-command-line-argument -Wno-openmp-target -Xclang -disable-llvm-passes -S -emit-llvm "$source" -o "$out.input.ll"
kernel=$(sed -n 's/^define weak_odr .*@\(__omp_offloading_[0-9a-z_]*\)(.*/\1/p' "$out.input.ll" | head -n 1)
