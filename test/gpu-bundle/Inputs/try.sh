#!/usr/bin/env bash
# Runs an archive of `cargo xtask gpu-bundle` in a root that holds a C library and, as its
# driver, the virtual GPU.
# Usage: try.sh ARCHIVE DRIVER_FOLDER SCRATCH; the results are left in SCRATCH.
set -euo pipefail
archive=$1 driver=$2 scratch=$3

if [ -z "${OFFLOOM_IN_NAMESPACE:-}" ]; then
  user=()
  [ "$(id -u)" -eq 0 ] || user=(--map-root-user)
  OFFLOOM_IN_NAMESPACE=1 exec unshare --mount "${user[@]}" "$BASH" "$0" "$@"
fi

root=$scratch/root
mkdir -p "$root"/{dev,driver,lib,lib64,proc,tmp,bundle}
for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1; do
  cp -L "/lib/x86_64-linux-gnu/$library" "$root/lib"
done
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64"
cp -L "$driver"/libcuda.so.1 "$root/driver"
ln -s libcuda.so.1 "$root/driver/libcuda.so"
touch "$root/dev/null"
mount --bind /dev/null "$root/dev/null"
mount --rbind /proc "$root/proc"
tar --extract --file "$archive" --directory "$root/bundle" --strip-components=1
# A driver as the system's loader finds it: in no setting.
status=0
env --ignore-environment LD_LIBRARY_PATH=/driver "$(command -v chroot)" "$root" /bundle/run --seconds "$OFFLOOM_BUNDLE_SECONDS" --output /tmp/gpu-results.json || status=$?
cp "$root/tmp/gpu-results.json" "$scratch" || status=1
exit $status
