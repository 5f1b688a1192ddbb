# How many numbers. GCC assembles it, and would refuse options of Clang.
    .globl number
number:
    movl $1000, %eax
    ret
    .section .note.GNU-stack,"",@progbits
