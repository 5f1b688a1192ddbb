; Every type of scalar, as a parameter of its own type and in the low bytes of a word; objects by value; pointers that are literals.
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize-args<descriptor=kernel=kernel;arch=x86-64;0=half:0x3e00;1=bfloat:0x4000;2=half:0x3e00;3=bfloat:0x4000;4=i1:1;5=bytes:0102030405060708;6=bytes:0000803f;7=i64:0x1000;8=bytes:ff>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

; CHECK-LABEL: define void @kernel(
; CHECK: store volatile half {{0xH3E00|1\.500000e\+00}}, ptr %out
; CHECK-NEXT: store volatile bfloat {{0xR4000|2\.000000e\+00}}, ptr %out
; CHECK-NEXT: store volatile half {{0xH3E00|1\.500000e\+00}}, ptr %out
; CHECK-NEXT: store volatile bfloat {{0xR4000|2\.000000e\+00}}, ptr %out
; CHECK-NEXT: store volatile i1 true, ptr %out
; CHECK-NEXT: store volatile i64 578437695752307201, ptr %out
; CHECK-NEXT: store volatile float 1.000000e+00, ptr %out
; CHECK-NEXT: store volatile i32 7, ptr inttoptr (i64 4096 to ptr)
; CHECK-NEXT: store volatile i64 255, ptr %out
; CHECK-NEXT: ret void
define void @kernel(half %h, bfloat %b, i64 %hw, i64 %bw, i1 %flag, i64 %pair, i64 %single, ptr %literal, i64 %byte, ptr %out) {
  store volatile half %h, ptr %out
  store volatile bfloat %b, ptr %out
  %hi = trunc i64 %hw to i16
  %hv = bitcast i16 %hi to half
  store volatile half %hv, ptr %out
  %bi = trunc i64 %bw to i16
  %bv = bitcast i16 %bi to bfloat
  store volatile bfloat %bv, ptr %out
  store volatile i1 %flag, ptr %out
  store volatile i64 %pair, ptr %out
  %si = trunc i64 %single to i32
  %sv = bitcast i32 %si to float
  store volatile float %sv, ptr %out
  store volatile i32 7, ptr %literal
  store volatile i64 %byte, ptr %out
  ret void
}
