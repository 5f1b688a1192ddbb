# Gives one malformed OffloadBinary to every command that reads one, as a file and embedded in an object: each must exit with 1, print
# one line of error and leave no file. Usage: refused.sh FOLDER WRAPGEN DROPIN_FOLDER LLVM_BIN NAME
scripts=$(dirname "$0")
cd "$1" || exit 2
"$4/llvm-objcopy" --update-section .llvm.offloading="$5" object.o "$5.o" || exit 2
fails() { bash "$scripts/fails-cleanly.sh" . "$@" || exit 1; }
fails "$2" inspect "$5"
fails "$2" extract "$5.o" --image=file=out
fails "$3/clang-offload-packager" "$5" --image=file=out
fails "$3/clang-linker-wrapper" --host-triple=x86_64-pc-linux-gnu --linker-path=/bin/true -o out "$5.o"
