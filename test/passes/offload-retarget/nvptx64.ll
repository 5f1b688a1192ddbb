; NVPTX: only to a later processor, with a PTX version that knows it.

; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=sm_90>,verify' -S %s | FileCheck %s --check-prefix=LATER
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=sm_90>' %s -o - | %llvm_bin/llc -mcpu=sm_90 -o - | FileCheck %s --check-prefix=PTX
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=sm_72>,verify' -S %s | FileCheck %s --check-prefix=KEEPS
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=sm_80;features=+ptx80>,verify' -S %s | FileCheck %s --check-prefix=ASKED
; The oldest PTX version that knows a processor does not grow with its number.
; RUN: sed -e s/sm_70/sm_35/g -e s/ptx63/ptx40/ %s > %t.old.ll
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=sm_50>' %t.old.ll -S | FileCheck %s --check-prefix=FIFTY
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=sm_37>' %t.old.ll -S | FileCheck %s --check-prefix=THIRTY-SEVEN
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=sm_37>' %t.old.ll -o - | %llvm_bin/llc -mcpu=sm_37 -o /dev/null

; RUN: rm -f %t.out
; RUN: not %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=sm_60>' %s -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=OLDER < %t.err
; RUN: not %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=native>' %s -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=NATIVE < %t.err
; RUN: not %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=sm_999>' %s -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=UNKNOWN < %t.err
; RUN: not test -e %t.out

; LATER: attributes #0 = { "target-cpu"="sm_90" }
; PTX: .version 7.8
; PTX-NEXT: .target sm_90
; KEEPS: attributes #0 = { "target-cpu"="sm_72" "target-features"="+ptx63" }
; ASKED: attributes #0 = { "target-cpu"="sm_80" "target-features"="+ptx80" }
; FIFTY: attributes #0 = { "target-cpu"="sm_50" "target-features"="+ptx40" }
; THIRTY-SEVEN: attributes #0 = { "target-cpu"="sm_37" }
; UNKNOWN: offload-retarget: LLVM knows no processor `sm_999` for `nvptx64-nvidia-cuda`: name one that it knows
; OLDER: offload-retarget: `kernel` was compiled for `sm_70`, and its code may not run on `sm_60`
; NATIVE: offload-retarget: `native` is this machine's processor, and the module is for `nvptx64-nvidia-cuda`: name a processor

target triple = "nvptx64-nvidia-cuda"

define void @kernel() #0 {
  ret void
}

attributes #0 = { "target-cpu"="sm_70" "target-features"="+ptx63,+sm_70" }
