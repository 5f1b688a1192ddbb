; What programs of LLVM 22 call and the device runtime of LLVM 19 has not: a parallel region with a last argument, `strict`.
target triple = "nvptx64-nvidia-cuda"

declare void @__kmpc_parallel_51(ptr, i32, i32, i32, i32, ptr, ptr, ptr, i64)

define hidden void @__kmpc_parallel_60(ptr %place, i32 %thread, i32 %if, i32 %threads, i32 %bind, ptr %function,
                                       ptr %wrapper, ptr %arguments, i64 %count, i32 %strict) {
  call void @__kmpc_parallel_51(ptr %place, i32 %thread, i32 %if, i32 %threads, i32 %bind, ptr %function,
                                ptr %wrapper, ptr %arguments, i64 %count)
  ret void
}
