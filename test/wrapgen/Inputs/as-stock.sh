# Runs LLVM's packager and our drop-in with the same arguments, each in a copy of the current folder: the files they leave and
# whether they succeed must be equal.
# Usage: as-stock.sh LLVM_BIN DROPIN_FOLDER ARGUMENT...
name=llvm-offload-binary
[ -x "$1/$name" ] || name=clang-offload-packager
stock=$1/$name
ours=$2/$name
shift 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for side in stock ours; do
    mkdir "$scratch/$side"
    find . -maxdepth 1 -type f -exec cp {} "$scratch/$side" \;
    (cd "$scratch/$side" && "${!side}" "$@") >"$scratch/$side.out" 2>&1
    echo $? >"$scratch/$side.status"
done
if ! diff -r "$scratch/stock" "$scratch/ours" || ! cmp "$scratch/stock.status" "$scratch/ours.status"; then
    echo "differs from $stock: $*"
    cat "$scratch/stock.out" "$scratch/ours.out"
    exit 1
fi
