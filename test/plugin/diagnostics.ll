; Messages of a pass: an error ends the tool and takes the output file away, also one that was there before; others do not.

; RUN: echo old > %t.error
; RUN: not %opt -load-pass-plugin %test_plugin -passes='test-diagnose<error>' %s -o %t.error 2>&1 | FileCheck %s --check-prefix=ERROR
; RUN: not test -e %t.error
; RUN: %opt -load-pass-plugin %test_plugin -passes='test-diagnose<warning>' %s -o %t.warning 2>&1 | FileCheck %s --check-prefix=WARNING
; RUN: test -s %t.warning
; RUN: %opt -load-pass-plugin %test_plugin -passes='test-diagnose<remark>' %s -o %t.remark 2>&1 | FileCheck %s --check-prefix=REMARK
; RUN: test -s %t.remark

; ERROR: {{^}}error: a message of the test plugin{{$}}
; ERROR-NOT: {{.}}
; WARNING: {{^}}warning: a message of the test plugin{{$}}
; REMARK: {{^}}remark: a message of the test plugin{{$}}

define void @f() {
  ret void
}
