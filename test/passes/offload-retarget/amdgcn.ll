; AMDGPU: features of the old processor go, because the code generator refuses or misreads them on the new one; the settings that are
; part of the ABI stay, and the wavefront size with them.

; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=gfx1030>,verify' -S %s | FileCheck %s --check-prefix=WAVE64
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=gfx1030>' %s -o - | %llvm_bin/llc -mcpu=gfx1030 -o - | FileCheck %s --check-prefix=ASM
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=gfx90a;features=-cumode,+xnack>,verify' -S %s | FileCheck %s --check-prefix=SAME

; A setting that the processor does not have is none of the image's.
; RUN: sed -e 's/+cumode/+xnack,-sramecc/' %s > %t.xnack.ll
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=gfx90a>' %t.xnack.ll -S | FileCheck %s --check-prefix=XNACK
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=gfx1030>' %t.xnack.ll -S | FileCheck %s --check-prefix=NO-XNACK

; RUN: rm -f %t.out
; RUN: sed -e s/gfx906/gfx1030/ -e s/+mad-mac-f32-insts/+wavefrontsize32/ %s > %t.wave32.ll
; RUN: %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=gfx1100>,verify' -S %t.wave32.ll | FileCheck %s --check-prefix=WAVE32
; RUN: not %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=gfx906>' %t.wave32.ll -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=ONLY64 < %t.err
; RUN: not %opt -load-pass-plugin %passes -passes='offload-retarget<cpu=gfx9O6>' %s -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=UNKNOWN < %t.err
; RUN: not test -e %t.out

; WAVE64: attributes #0 = { "target-cpu"="gfx1030" "target-features"="+cumode,+wavefrontsize64" }
; ASM: .amdgcn_target "amdgcn-amd-amdhsa-{{.*}}-gfx1030
; ASM: .amdhsa_wavefront_size32 0
; SAME: attributes #0 = { "target-cpu"="gfx90a" "target-features"="+cumode,+xnack" }
; XNACK: attributes #0 = { "target-cpu"="gfx90a" "target-features"="+xnack,-sramecc" }
; NO-XNACK: attributes #0 = { "target-cpu"="gfx1030" "target-features"="+wavefrontsize64" }
; WAVE32: attributes #0 = { "target-cpu"="gfx1100" "target-features"="+wavefrontsize32,+cumode" }
; UNKNOWN: offload-retarget: LLVM knows no processor `gfx9O6` for `amdgcn-amd-amdhsa`: name one that it knows
; ONLY64: offload-retarget: `kernel` was compiled for wavefronts of 32, which `gfx906` does not have

target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @kernel() #0 {
  ret void
}

attributes #0 = { "target-cpu"="gfx906" "target-features"="+mad-mac-f32-insts,+dot1-insts,+cumode" }
