# Links main.o, native.o and archived.o with each line of driver-options.txt, once with LLVM's linker wrapper and once with ours.
#
#   driver-options.sh FOLDER COMPILE LINK DROPIN
#
# Prints a line for each that says how both ended: the exit status of the link and what the program printed, if there is one that
# runs. Ends with 1 where they differ.
folder=$1 compile=$2 link=$3 dropin=$4
status=0
while read -r options; do
  for tool in stock ours; do
    rm -rf "$folder/$tool"
    mkdir "$folder/$tool"
    cd "$folder/$tool" || exit 1
    case $tool in
    # What LLVM leaves there is its own affair.
    stock) prefix= temporary=$PWD/temporary && mkdir temporary ;;
    ours) prefix="-B $dropin" temporary=$TMPDIR ;;
    esac
    TMPDIR=$temporary $compile -foffload-lto $prefix $options ../main.o ../native.o ../archived.o $link -o program > log 2>&1 < /dev/null
    echo "link $?" > ../$tool.result
    case $options in
    -r | -shared) ;;
    *) test ! -x program || OMP_TARGET_OFFLOAD=mandatory ./program >> ../$tool.result 2>&1 ;;
    esac
  done
  cd "$folder" || exit 1
  if cmp -s stock.result ours.result; then
    echo "same, $(tr '\n' ' ' < ours.result): $options"
  else
    echo "different: $options" && cat stock.result stock/log ours.result ours/log
    status=1
  fi
done < "$(dirname "$0")/driver-options.txt"
exit $status
