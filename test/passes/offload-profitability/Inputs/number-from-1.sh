# Numbers a GPU's arguments from 1, as those of kernels are that have the launch environment first; LLVM 23's kernels have it last.
#
#   number-from-1.sh LLVM
if [ "$1" -lt 23 ]; then exec cat; fi
awk '$1 == "argument" { sub(/[0-9]+/, $2 + 1) } { print }'
