; One kernel is left, with what it reaches: its environment, constructors of its variables, a kernel that it calls.

; RUN: %opt -mtriple=x86_64-pc-linux-gnu -load-pass-plugin %passes -passes='offload-prune<kernel=__omp_offloading_1_2_first_l3>,verify' -S %s | FileCheck %s --implicit-check-not=second_ --implicit-check-not=@unreached
; RUN: %opt -mtriple=nvptx64-nvidia-cuda -load-pass-plugin %passes -passes='offload-prune<kernel=__omp_offloading_1_2_first_l3>,verify' -S %s | FileCheck %s --implicit-check-not=second_ --implicit-check-not=@unreached
; RUN: %opt -mtriple=amdgcn-amd-amdhsa -load-pass-plugin %passes -passes='offload-prune<kernel=__omp_offloading_1_2_first_l3>,verify' -S %s | FileCheck %s --implicit-check-not=second_ --implicit-check-not=@unreached

; RUN: rm -f %t.out
; RUN: not %opt -load-pass-plugin %passes -passes='offload-prune<kernel=helper>' %s -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=HELPER < %t.err
; RUN: not %opt -load-pass-plugin %passes -passes=offload-prune %s -o %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=UNNAMED < %t.err
; RUN: not test -e %t.out

; HELPER: error: {{.*}}rules.ll: offload-prune: the module defines no kernel `helper`
; UNNAMED: error: {{.*}}rules.ll: offload-prune: the parameter `kernel` needs a value: write `kernel=…`

; CHECK-DAG: @__omp_offloading_1_2_first_l3_kernel_environment = constant i32 1
; CHECK-DAG: @table = internal constant [1 x ptr] [ptr @callback]
; CHECK-DAG: @state = global i32 0
; CHECK-DAG: @llvm.used = appending {{.*}}global [1 x ptr] [ptr @state]
; CHECK-DAG: @llvm.global_ctors = appending {{.*}}global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @construct_state, ptr null }, { i32, ptr, ptr } { i32 2, ptr @construct_by_call, ptr null }]
; CHECK-DAG: define {{.*}}void @__omp_offloading_1_2_first_l3()
; CHECK-DAG: define internal {{.*}}void @__omp_offloading_1_2_called_l9()
; CHECK-DAG: define void @helper()
; CHECK-DAG: define internal void @callback()
; CHECK-DAG: define internal void @construct_state()
; CHECK-DAG: define internal void @construct_by_call()
; CHECK-DAG: declare void @library()

@__omp_offloading_1_2_first_l3_kernel_environment = constant i32 1
@__omp_offloading_1_2_second_l5_kernel_environment = constant i32 2
@table = internal constant [1 x ptr] [ptr @callback]
@state = global i32 0
@unreached_state = global i32 0
@filled_by_call = internal global i32 0
@llvm.used = appending global [2 x ptr] [ptr @state, ptr @unreached_state]
@llvm.global_ctors = appending global [3 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @construct_state, ptr null }, { i32, ptr, ptr } { i32 2, ptr @construct_by_call, ptr null }, { i32, ptr, ptr } { i32 1, ptr @construct_unreached, ptr null }]
@unreached_alias = alias void (), ptr @unreached

declare void @library()
declare void @unreached_library()

define void @__omp_offloading_1_2_first_l3() {
  call void @helper()
  call void @__omp_offloading_1_2_called_l9()
  ret void
}

define void @__omp_offloading_1_2_second_l5() {
  call void @helper()
  call void @unreached()
  ret void
}

define void @__omp_offloading_1_2_called_l9() {
  ret void
}

define void @helper() {
  %callback = load ptr, ptr @table
  call void %callback()
  ret void
}

define internal void @callback() {
  store i32 1, ptr @state
  call void @library()
  ret void
}

define void @unreached() {
  call void @unreached_library()
  ret void
}

define internal void @construct_state() {
  store i32 2, ptr @state
  ret void
}

define internal void @construct_by_call() {
  call void @fill(ptr @filled_by_call)
  ret void
}

define internal void @fill(ptr %by) {
  store i32 3, ptr @state
  ret void
}

define internal void @construct_unreached() {
  store i32 2, ptr @unreached_state
  ret void
}
