#!/bin/sh
# Stands for ptxas: has the kernel say that it wants blocks of 1024 threads, and runs the real one, whose path a test puts in.
for word; do last=$word; done
test "$last" = --version && exec @PTXAS@ --version
copy=$(mktemp) && sed 's/\.reqntid [0-9]*/.reqntid 1024/' "$last" > "$copy" || exit 1
count=$#
for word; do
  shift
  count=$((count - 1))
  if test $count -eq 0; then word=$copy; fi
  set -- "$@" "$word"
done
@PTXAS@ "$@"
result=$?
rm -f "$copy"
exit $result
