# Runs a command in a folder: it must exit with 1, print one line of error, and leave the folder as it was.
# Clang's own line about a linker that failed does not count.
# Usage: fails-cleanly.sh FOLDER COMMAND...
cd "$1" || exit 2
shift
contents() { find . -type f -exec sha256sum {} + | sort; }
before=$(contents)
message=$("$@" 2>&1)
status=$?
message=$(printf '%s\n' "$message" | grep -v ': error: linker command failed with exit code 1 (use -v to see invocation)$')
printf '%s\n' "$message"
if [ "$status" != 1 ]; then
    echo "exit status $status, not 1"
    exit 1
fi
if [ "$(printf '%s\n' "$message" | wc -l)" != 1 ]; then
    echo "more than one line"
    exit 1
fi
if [ "$(contents)" != "$before" ]; then
    echo "files changed: $(diff <(printf '%s\n' "$before") <(contents))"
    exit 1
fi
