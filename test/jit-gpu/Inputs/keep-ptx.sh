#!/bin/sh
# Stands for ptxas: leaves a copy of the PTX that it is given in the file that PTX names, and runs the program that PTXAS names.
for word; do last=$word; done
cp "$last" "$PTX" || exit 1
exec "$PTXAS" "$@"
