# Makes in the folder `root` what a link for AArch64 names: start files and libraries without code.
#
#   aarch64-host.sh CLANG LLVM_BIN
set -eu
mkdir -p root
for name in Scrt1 crti crtbeginS crtendS crtn empty; do
  "$1" --target=aarch64-unknown-linux-gnu -c -x c /dev/null -o root/$name.o
done
for library in c gcc_s; do
  "$2/ld.lld" -m aarch64linux -shared root/empty.o -o root/lib$library.so
done
"$2/llvm-ar" rcs root/libgcc.a root/empty.o
