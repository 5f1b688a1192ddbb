# The kernel in its final form, as LLVM 23 calls it.
/^define void @__omp_offloading_0_0_clear_l0(/,/^}/c\
define void @__omp_offloading_0_0_clear_l0(ptr %arguments) {\
  %address = load ptr, ptr %arguments\
  %y = load ptr, ptr %address\
  store double 0.0, ptr %y\
  ret void\
}
