; A group stays whole: with an exposed member all of it is kept; otherwise its members become internal together, and one alone leaves it.

; RUN: %opt -load-pass-plugin %passes -passes='offload-internalize<keep=kept>,verify' -S %s | FileCheck %s

; CHECK-NOT: $single
; CHECK-DAG: $both = comdat nodeduplicate
; CHECK-DAG: $with_kept = comdat any
; CHECK: @first = internal global i32 0, comdat($both)
; CHECK: @second = internal global i32 0, comdat($both)
; CHECK: @kept = weak_odr hidden global i32 0, comdat($with_kept)
; CHECK: @beside_kept = linkonce_odr hidden global i32 0, comdat($with_kept)
; CHECK: @alias_of_first = internal alias i32, ptr @first
; CHECK: define internal void @single() {

$single = comdat any
$both = comdat any
$with_kept = comdat any

@first = linkonce_odr hidden global i32 0, comdat($both)
@second = linkonce_odr hidden global i32 0, comdat($both)
@kept = linkonce_odr hidden global i32 0, comdat($with_kept)
@beside_kept = linkonce_odr hidden global i32 0, comdat($with_kept)
@alias_of_first = hidden alias i32, ptr @first

define linkonce_odr hidden void @single() comdat {
  ret void
}
