# Prints the example in docs/user/markers.md that is in this language.
set -eu
sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$(dirname "$0")/../../../../docs/user/markers.md" | grep -v '^```'
