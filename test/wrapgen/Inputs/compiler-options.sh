# Links main.o, native.o and archived.o with options, once with LLVM's linker wrapper and once with ours.
#
#   compiler-options.sh FOLDER COMPILE LINK DROPIN OPTION...
#
# Leaves in FOLDER/stock and FOLDER/ours: `program`, which must run alike, `log` of the link, and `image`.
set -e
folder=$1 compile=$2 link=$3 dropin=$4
shift 4
for tool in stock ours; do
  rm -rf "$folder/$tool"
  mkdir "$folder/$tool"
  cd "$folder/$tool"
  case $tool in stock) prefix= ;; ours) prefix="-B $dropin" ;; esac
  $compile -foffload-lto $prefix "$@" ../main.o ../native.o ../archived.o $link -o program > log 2>&1 || { cat log; exit 1; }
  "$dropin/clang-offload-packager" program --image=file=image,kind=openmp
done
