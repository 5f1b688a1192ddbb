# Gives every option that the help text of LLVM's tools lists to our tool of the same name.
#
#   known-options.sh LLVM_BIN DROPIN
#
# An option that the linker wrapper does not know goes to the host linker, which a dry run shows; the other tools report it.
# Prints the number of options of each tool; ends with 1 if one is not known.
bin=$1 dropin=$2 status=0
echo > empty.c
"$bin/clang" -c empty.c -o empty.o
echo image > image
for tool in clang-linker-wrapper clang-offload-packager llvm-offload-binary llvm-offload-wrapper; do
  test -e "$bin/$tool" || continue
  count=0
  for option in $("$bin/$tool" --help-hidden | sed -n 's/^ \{1,4\}\(-[^ ]*\)\( <[a-z]*>\)\{0,1\}.*/\1\2/p' | tr ' ' '#'); do
    count=$((count + 1))
    case $option in
    *-jobs=*) words="${option%%=*}=2" ;;
    *kind=file* | *override*) words="${option%%=*}=openmp=missing" ;;
    *bitcode-library*) words="${option%%=*}=openmp-x86_64-pc-linux-gnu-=missing" ;;
    *builtin-bitcode*) words="${option%%=*}=x86_64-pc-linux-gnu=missing" ;;
    --kind=*) words=--kind=openmp ;;
    --triple=*) words=--triple=x86_64-pc-linux-gnu ;;
    --image=*) words=--image=file=image,triple=x86_64-pc-linux-gnu ;;
    *trace=*) words="${option%%=*}=trace.json" ;;
    *=*) words="${option%%=*}=value" ;;
    *"#"*) words="${option%%#*} value" ;;
    *) words=$option ;;
    esac
    case $tool in
    clang-linker-wrapper)
      message=$("$dropin/$tool" --dry-run --linker-path=/bin/host-linker empty.o $words 2>&1)
      case $option in
      # The host linker has these, too.
      -L* | -l* | -o* | -r | --library* | --output* | --relocatable | --sysroot*) unknown= ;;
      *) unknown=$(printf '%s\n' "$message" | grep host-linker | grep -F -- " ${words%% *}") ;;
      esac
      ;;
    *)
      message=$("$dropin/$tool" $words -o written image 2>&1)
      unknown=$(printf '%s\n' "$message" | grep -e 'unknown option' -e 'unexpected argument')
      ;;
    esac
    if [ -n "$unknown" ]; then
      echo "$tool: $words is not known: $unknown"
      status=1
    fi
  done
  echo "$tool: $count options"
done
exit $status
