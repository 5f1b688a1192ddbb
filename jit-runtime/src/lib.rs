//! `liboffloom_jit.so`: specialises kernels at run time.
