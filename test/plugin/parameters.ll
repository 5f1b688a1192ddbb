; Parameters arrive inside of the pass's name, in the order they were written; what cannot be taken apart is an error.

; RUN: %opt -load-pass-plugin %test_plugin -passes='test-print-parameters<a=1;b;a=x=y>' -disable-output %s 2>&1 | FileCheck %s
; RUN: not %opt -load-pass-plugin %test_plugin -passes='test-print-parameters<a;;b>' -disable-output %s 2>&1 \
; RUN:   | FileCheck %s --check-prefix=UNNAMED
; RUN: not %opt -load-pass-plugin %test_plugin -passes='no-such-pass' -disable-output %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN

; CHECK: a = Some("1")
; CHECK-NEXT: b = None
; CHECK-NEXT: a = Some("x=y")
; UNNAMED: error: in `test-print-parameters<a;;b>` a parameter has no name: write `test-print-parameters<key=value;key=value>`
; UNKNOWN: unknown pass name 'no-such-pass'

define void @f() {
  ret void
}
