# The machine code of what kernels run in parallel, of the device image in a dumped launch, without addresses.
# Arguments: the folder of LLVM's tools, and the image.
"$1/llvm-objdump" -d --no-show-raw-insn --no-leading-addr "$2" |
  sed -n '/^<.*omp_outlined.*>:/,/^$/p' |
  sed 's/0x[0-9a-f]*//g; s/ *#.*//'
