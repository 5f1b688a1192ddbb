; A plugin that was built for another LLVM is refused with one message, and nothing is written.

; REQUIRES: both-llvms
; RUN: rm -f %t.out
; RUN: not %other_opt -load-pass-plugin %passes -passes=offload-entries %s -o %t.out 2>&1 | FileCheck %s
; RUN: not %other_opt -load-pass-plugin %passes -passes=offload-entries %s -o %t.out 2>&1 | count 1
; RUN: not test -e %t.out

; CHECK: error: the plugin `offloom` is for LLVM {{[0-9]+}}, but this program runs LLVM {{[0-9.]+}}: load the plugin that was built for LLVM

define void @f() {
  ret void
}
