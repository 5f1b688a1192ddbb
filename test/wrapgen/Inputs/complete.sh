# Prints what bash offers for the last word of a command line: complete.sh <completion file> <word>...
# bash-completion, which loads such files, is not needed for that.
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"_$1" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
echo "${COMPREPLY[@]}"
