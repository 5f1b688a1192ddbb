# Builds a program with the options of a pkg-config file.
# Usage: pkg-config.sh CLANG++ INSTALLATION NAME SOURCE PROGRAM
set -eu
clang=$1 name=$3 source=$4 program=$5
export PKG_CONFIG_PATH=$2/lib/pkgconfig
# shellcheck disable=SC2046 # the options are words
"$clang" -O2 $(pkg-config --cflags "$name") -c "$source" -o "$program.o"
# shellcheck disable=SC2046
"$clang" "$program.o" $(pkg-config --libs "$name") -o "$program"
