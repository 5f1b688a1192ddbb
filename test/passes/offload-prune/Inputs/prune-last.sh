# Prunes device.ll to the last of its kernels, as pruned.ll.
#
# prune-last.sh LLVM_BIN PASSES
set -eu
kernel=$(sed -n 's/^define weak_odr .*@\(__omp_offloading_[0-9a-z_]*\)(.*/\1/p' device.ll | tail -n 1)
"$1/opt" -load-pass-plugin "$2" -passes="offload-prune<kernel=$kernel>,verify" -S device.ll -o pruned.ll
