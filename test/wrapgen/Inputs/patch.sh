# Copies a file with some bytes replaced: patch.sh FROM TO OFFSET BYTES, bytes as printf writes them.
cp "$1" "$2"
printf "$4" | dd of="$2" bs=1 seek="$3" conv=notrunc status=none
