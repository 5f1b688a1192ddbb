; What Fortran programs of LLVM 22 call and the device runtime of LLVM 19 has not: loops with a last argument, `one iteration for each thread`, and
; with the number of iterations as it is. The runtime of 19 adds one to that number; its functions are called `old_` here.
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare void @old_for_static_loop_4u(ptr, ptr, ptr, i32, i32, i32)
declare void @old_distribute_static_loop_4u(ptr, ptr, ptr, i32, i32)
declare void @old_distribute_for_static_loop_4u(ptr, ptr, ptr, i32, i32, i32, i32)

define hidden void @__kmpc_for_static_loop_4u(ptr %place, ptr %body, ptr %argument, i32 %count, i32 %threads,
                                              i32 %thread_chunk, i8 %one) {
  %last = sub i32 %count, 1
  call void @old_for_static_loop_4u(ptr %place, ptr %body, ptr %argument, i32 %last, i32 %threads, i32 %thread_chunk)
  ret void
}

define hidden void @__kmpc_distribute_static_loop_4u(ptr %place, ptr %body, ptr %argument, i32 %count,
                                                     i32 %block_chunk, i8 %one) {
  %last = sub i32 %count, 1
  call void @old_distribute_static_loop_4u(ptr %place, ptr %body, ptr %argument, i32 %last, i32 %block_chunk)
  ret void
}

define hidden void @__kmpc_distribute_for_static_loop_4u(ptr %place, ptr %body, ptr %argument, i32 %count, i32 %threads,
                                                         i32 %block_chunk, i32 %thread_chunk, i8 %one) {
  %last = sub i32 %count, 1
  call void @old_distribute_for_static_loop_4u(ptr %place, ptr %body, ptr %argument, i32 %last, i32 %threads,
                                               i32 %block_chunk, i32 %thread_chunk)
  ret void
}
