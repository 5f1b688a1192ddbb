#!/bin/sh
# Stands for the ptxas of a CUDA that is not there yet: says that it is CUDA 99, and notes in a file that it was asked for code. The real one, whose path a
# test puts in, as that of the file, makes it.
for word; do last=$word; done
if test "$last" = --version; then
  echo 'Cuda compilation tools, release 99.0, V99.0.1'
  exit
fi
echo asked >> @NOTED@
exec @PTXAS@ "$@"
