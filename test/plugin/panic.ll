; A pass that panics ends as one LLVM error that says where, with exit code 1 and no output file.

; RUN: rm -f %t.out
; RUN: not %opt -load-pass-plugin %test_plugin -passes=test-panic %s -o %t.out 2>&1 | FileCheck %s --check-prefix=MODULE
; RUN: not test -e %t.out
; RUN: not %opt -load-pass-plugin %test_plugin -passes=test-function-panic %s -o %t.out 2>&1 | FileCheck %s --check-prefix=FUNCTION
; RUN: not test -e %t.out
; RUN: not %opt -load-pass-plugin %test_plugin -passes=test-panic %s -o %t.out 2>&1 | count 1

; MODULE: error: the pass `{{.*}}Panic` panicked at {{.*}}glue_probes.rs:{{[0-9]+}}:{{[0-9]+}}: on purpose, in "{{.*}}panic.ll"
; MODULE-NOT: {{.}}
; FUNCTION: error: the pass `{{.*}}Panic` panicked at {{.*}}glue_probes.rs:{{[0-9]+}}:{{[0-9]+}}: on purpose, in "f"
; FUNCTION-NOT: {{.}}

define void @f() {
  ret void
}
