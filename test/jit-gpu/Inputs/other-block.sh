#!/bin/sh
# Stands for ptxas: has the kernel say that it wants blocks of 1024 threads, and runs the real one, whose path a test puts in. The PTX is the worker's own
# copy, in memory.
for word; do last=$word; done
test "$last" = --version && exec @PTXAS@ --version
changed=$(sed 's/\.reqntid [0-9]*/.reqntid 1024/' "$last") && printf '%s\n' "$changed" > "$last" || exit 1
exec @PTXAS@ "$@"
