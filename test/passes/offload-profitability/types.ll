; Values of types that only some instructions of x86 take: nothing is known of what is stored.
; RUN: split-file %s %t
; RUN: %opt -load-pass-plugin %passes -passes=offload-profitability -disable-output %t/tile.ll | FileCheck %t/tile.ll
; RUN: %if llvm-19 %{ %opt -load-pass-plugin %passes -passes=offload-profitability -disable-output %t/multimedia.ll | FileCheck %t/multimedia.ll %}

;--- tile.ll
; CHECK: __omp_offloading_1_1_tile_l1
target triple = "x86_64-pc-linux-gnu"
declare x86_amx @llvm.x86.tilezero.internal(i16, i16)
define weak_odr protected void @__omp_offloading_1_1_tile_l1(ptr %x, ptr %y) {
  %tile = call x86_amx @llvm.x86.tilezero.internal(i16 8, i16 8)
  store x86_amx %tile, ptr %y
  ret void
}

;--- multimedia.ll
; CHECK: __omp_offloading_1_1_multimedia_l1
target triple = "x86_64-pc-linux-gnu"
declare x86_mmx @llvm.x86.mmx.padd.w(x86_mmx, x86_mmx)
define weak_odr protected void @__omp_offloading_1_1_multimedia_l1(ptr %x, ptr %y) {
  %value = load x86_mmx, ptr %y
  %sum = call x86_mmx @llvm.x86.mmx.padd.w(x86_mmx %value, x86_mmx %value)
  store x86_mmx %sum, ptr %y
  ret void
}
