# Builds a Rust program with a marked kernel: its library through our passes, then a `main` that calls the library's `run`.
# Usage: rust_program.sh RUSTC CLANG OPT PASSES WRAPGEN DROPIN LLVM_BIN SOURCE FOLDER LINK_OPTIONS...
set -eu
rustc=$1 clang=$2 opt=$3 passes=$4 wrapgen=$5 dropin=$6 llvm_bin=$7 source=$8 folder=$9
shift 9
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
"$rustc" --edition 2024 -O -C codegen-units=1 -C relocation-model=pic --emit=llvm-bc,link "$source"
"$opt" -load-pass-plugin "$passes" -passes=offload-host,verify program.bc -o host.bc
"$opt" -load-pass-plugin "$passes" -passes='offload-device-module<host-ir=host.bc>,verify,default<O2>' program.bc -o device.bc
"$clang" -O2 -fPIC -c device.bc -o device.o
"$wrapgen" pack -o images --image=file=device.o,triple=x86_64-pc-linux-gnu,kind=openmp
"$clang" -O2 -c host.bc -Xclang -fembed-offload-object=images -o host.o
# Our object stands in for those of the compiler: the library keeps the metadata alone.
"$llvm_bin/llvm-ar" t libprogram.rlib | grep '\.o$' > objects
while read -r object; do "$llvm_bin/llvm-ar" d libprogram.rlib "$object"; done < objects
echo 'fn main() { program::run() }' > main.rs
options=(-C "link-arg=$folder/host.o")
for option in "$@"; do options+=(-C "link-arg=$option"); done
"$rustc" --edition 2024 -O --extern program=libprogram.rlib -C linker="$clang" -C link-arg=-B"$dropin" -C link-arg=--offload-link \
  -C link-arg=-Wl,-z,nostart-stop-gc -C link-arg=-lomptarget "${options[@]}" main.rs -o program
