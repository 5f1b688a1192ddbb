#!/bin/sh
# Stands for ptxas: code that knows how many threads a block has takes long, all other code is as it is, and is noted in a file. Runs the real one, whose
# path a test puts in, as that of the file. The PTX is the worker's own copy, in memory.
for word; do last=$word; done
test "$last" = --version && exec @PTXAS@ --version
changed=$(awk '
  { print }
  /\.reqntid/ { is_kernel = 1 }
  /^{/ && is_kernel {
    print "{ .reg .u32 %slow; .reg .pred %more; mov.u32 %slow, 20000;"
    print "$again: sub.u32 %slow, %slow, 1; setp.ne.u32 %more, %slow, 0; @%more bra $again; }"
    is_kernel = 0
  }' "$last") && printf '%s\n' "$changed" > "$last" || exit 1
@PTXAS@ "$@"
result=$?
grep -q '\.reqntid' "$last" || echo assembled >> @NOTED@
exit $result
