; x86: features grow. What the image has stays, what it switched off stays off, and vectors are passed as the other side passes them.

; RUN: split-file %s %t
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=x86-64-v4;features=+prefer-no-gather;vector-width=256>,verify' -S %t/kernel.ll | FileCheck %t/kernel.ll
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=native>,verify' -S %t/kernel.ll | FileCheck %t/kernel.ll --check-prefix=NATIVE
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=x86-64-v4>,verify' %t/kernel.ll -o - | %llvm_bin/llc -O2 -o - | FileCheck %t/kernel.ll --check-prefix=ASM

; What variants are compiled with takes their own roundings from processors, also where another feature includes it.
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=arrowlake;features=-avx512bf16,-avx512fp16,-avxneconvert>' %t/round.ll -o - | %llvm_bin/llc -o - | FileCheck %t/round.ll
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=sapphirerapids;features=%if !llvm-19 %{+avx10.2%} %else %{+avx10.1-512%},-avx512bf16,-avx512fp16,-avxneconvert>' %t/round.ll -o - | %llvm_bin/llc -o - | FileCheck %t/round.ll

; RUN: not %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=x86-64-v2;features=+sse4.2,-ssse3>' %t/kernel.ll -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=MISSING < %t.err
; RUN: not %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=x86-64-v3>' %t/boundary.ll -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=VECTOR < %t.err
; RUN: not %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=x86-64-v3;vector-width=wide>' %t/kernel.ll -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=NUMBER < %t.err
; RUN: not %opt -load-pass-plugin %passes -passes='offload-retarget<features=+avx>' %t/kernel.ll -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=NO-CPU < %t.err
; RUN: not %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=zvner3>' %t/kernel.ll -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=UNKNOWN < %t.err
; RUN: not test -e %t.out
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=x86-64-v3;features=-avx>,verify' -S %t/boundary.ll | FileCheck %t/boundary.ll

; UNKNOWN: offload-retarget: LLVM knows no processor `zvner3` for `x86_64-pc-linux-gnu`: name one that it knows, which `llc -mtriple=x86_64-pc-linux-gnu -mcpu=help` lists
; MISSING: offload-retarget: `kernel` was compiled for the feature `ssse3`, which `x86-64-v2` is said not to have
; VECTOR: offload-retarget: `caller` passes a vector of 256 bits in or out of the module, which code for `x86-64-v3` passes in other registers: leave the processor as it is
; NUMBER: offload-retarget: the parameter `vector-width` is a number, and `wide` is none
; NO-CPU: offload-retarget: the parameter `cpu` needs a value: write `cpu=…`

;--- kernel.ll
; CHECK: define void @kernel({{.*}} #[[KERNEL:[0-9]+]]
; CHECK: define internal <8 x float> @inner({{.*}} #[[INNER:[0-9]+]]
; CHECK: declare void @outside() #[[OUTSIDE:[0-9]+]]
; CHECK-DAG: attributes #[[KERNEL]] = { "prefer-vector-width"="256" "target-cpu"="x86-64-v4" "target-features"="+prefer-no-gather,+sse2,+ssse3,-avx512cd" }
; CHECK-DAG: attributes #[[INNER]] = { "prefer-vector-width"="256" "target-cpu"="x86-64-v4" "target-features"="+prefer-no-gather" }
; CHECK-DAG: attributes #[[OUTSIDE]] = { "target-cpu"="x86-64" }

; NATIVE: define void @kernel({{.*}} #[[KERNEL:[0-9]+]]
; NATIVE: attributes #[[KERNEL]] = { "target-cpu"="{{[a-z0-9-]+}}" "target-features"="{{[^"]*}}+sse4.1{{[^"]*}}-avx512cd{{[^"]*}}" }

; One instruction for eight elements.
; ASM-LABEL: kernel:
; ASM: vmulps {{.*}}%ymm
target triple = "x86_64-pc-linux-gnu"

define void @kernel(ptr %data) #0 {
  %vector = load <8 x float>, ptr %data
  %result = call <8 x float> @inner(<8 x float> %vector)
  store <8 x float> %result, ptr %data
  call void @outside()
  ret void
}

define internal <8 x float> @inner(<8 x float> %vector) {
  %square = fmul <8 x float> %vector, %vector
  ret <8 x float> %square
}

declare void @outside() #1

attributes #0 = { "target-cpu"="x86-64" "target-features"="+sse2,+ssse3,-avx512cd" "tune-cpu"="generic" }
attributes #1 = { "target-cpu"="x86-64" }

;--- boundary.ll
; CHECK: attributes #{{[0-9]+}} = { "target-cpu"="x86-64-v3" "target-features"="-avx,+sse2" }
target triple = "x86_64-pc-linux-gnu"

define void @caller(ptr %data) #0 {
  %vector = load <8 x float>, ptr %data
  call void @outside(<8 x float> %vector)
  ret void
}

declare void @outside(<8 x float>)

attributes #0 = { "target-cpu"="x86-64" "target-features"="+sse2" }

;--- round.ll
; CHECK: call{{.*}} __truncsfbf2
target triple = "x86_64-pc-linux-gnu"

define void @round(ptr %from, ptr %to) {
  %number = load float, ptr %from
  %rounded = fptrunc float %number to bfloat
  store bfloat %rounded, ptr %to
  ret void
}
