; Wrong parameters: one message, exit code 1, no output file.

; RUN: rm -f %t.out
; RUN: not %opt -load-pass-plugin %passes -passes='offload-internalize<keap=a>' %s -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=UNKNOWN < %t.err
; RUN: count 1 < %t.err
; RUN: not %opt -load-pass-plugin %passes -passes='offload-internalize<keep>' %s -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=VALUE < %t.err
; RUN: not %opt -load-pass-plugin %passes -passes='offload-internalize<keep=a,b' %s -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=CLOSED < %t.err
; RUN: not %opt -load-pass-plugin %passes -passes='offload-internalise' %s -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=NAME < %t.err
; RUN: not test -e %t.out

; UNKNOWN: {{^}}error: {{.*}}parameters.ll: offload-internalize: unknown parameter `keap`: the parameters of this pass are `keep`, `keep-file`{{$}}
; VALUE: {{^}}error: {{.*}}parameters.ll: offload-internalize: the parameter `keep` needs a value: write `keep=…`
; CLOSED: {{^}}error: {{.*}}parameters.ll: offload-internalize: in `offload-internalize<keep=a,b` the parameters are not closed: write `offload-internalize<key=value;key=value>`
; NAME: unknown pass name 'offload-internalise'

define void @f() {
  ret void
}
