; A pass over functions runs once for each definition, also for one marked `optnone`.

; RUN: %opt -load-pass-plugin %test_plugin -passes='function(test-count-instructions)' -disable-output %s 2>&1 | FileCheck %s

; CHECK: f: 1 instructions
; CHECK-NEXT: g: 2 instructions
; CHECK-NOT: h:

declare i32 @h()

define void @f() {
  ret void
}

define i32 @g() noinline optnone {
  %x = call i32 @h()
  ret i32 %x
}
