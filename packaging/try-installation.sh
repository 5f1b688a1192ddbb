#!/usr/bin/env bash
# Installs a package in a root of its own over this machine's, in which the checkout and Rust are hidden; builds and runs a program with what
# was installed; removes it again; and does the same from the tarball. Nothing of it reaches the machine.
# Usage: try-installation.sh PACKAGE.deb TARBALL LLVM_MAJOR PROGRAM.cpp CMAKE_PROJECT SCRATCH "LINK OPTIONS" HIDDEN_FOLDER...
set -euo pipefail

if [ -z "${OFFLOOM_IN_NAMESPACE:-}" ]; then
  root=()
  [ "$(id -u)" -eq 0 ] || root=(--map-root-user)
  OFFLOOM_IN_NAMESPACE=1 exec unshare --mount "${root[@]}" "$BASH" "$0" "$@"
fi

package=$1 tarball=$2 major=$3 program=$4 project=$5 scratch=$6 link=$7
shift 7
root=$scratch/root
mkdir -p "$scratch"/{upper,work,root,given}
cp -r "$package" "$tarball" "$program" "$project" "$scratch/given"
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" "$root"
for folder in /proc /dev; do mount --rbind "$folder" "$root$folder"; done
mkdir -p "$root/mnt"
mount --bind "$scratch/given" "$root/mnt"
for hidden in "$@"; do
  [ ! -d "$root$hidden" ] || mount -t tmpfs tmpfs "$root$hidden"
done
mount -t tmpfs tmpfs "$root/tmp"

cat >"$root/tmp/try.sh" <<'INSIDE'
set -euo pipefail
package=$1 tarball=$2 major=$3 program=$4 project=$5 link=$6
export HOME=/tmp/home LC_ALL=C PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
mkdir -p "$HOME"
cd /tmp

# Builds and runs the program with the installation in $1, and shows that a kernel was specialised.
try() {
  # shellcheck disable=SC2086
  "clang++-$major" --config="$1/share/offloom/offloom-jit.cfg" -O2 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu \
    "$program" -o program $link
  OMP_TARGET_OFFLOAD=mandatory OFFLOOM_JIT=sync OFFLOOM_JIT_STATS=/tmp/stats ./program >/tmp/output
  "$1/bin/offloom" --json explain /tmp/stats | grep -q '"origin": "compiled"'
  "$1/bin/wrapgen" --version
  rm -r "$HOME/.cache/offloom" /tmp/stats
}

echo "== the package"
dpkg --install "/mnt/$package"
"/usr/bin/offloom-$major" --version
# shellcheck disable=SC2086
"/usr/bin/offloom-$major" doctor -- $link
try "/usr/lib/offloom-$major"
cmake -S "/mnt/$project" -B build -DCMAKE_CXX_COMPILER="clang++-$major" \
  "-DCMAKE_EXE_LINKER_FLAGS=$link" "-DOffloom_DIR=/usr/lib/cmake/Offloom-$major" >/dev/null
cmake --build build >/dev/null
OMP_TARGET_OFFLOAD=mandatory ./build/app
dpkg --purge "offloom-$major" >/dev/null
for left in "/usr/lib/offloom-$major" "/usr/bin/offloom-$major" "/usr/lib/cmake/Offloom-$major"; do
  [ ! -e "$left" ] || { echo "removing the package left $left"; exit 1; }
done

echo "== the tarball"
mkdir unpacked
tar -xf "/mnt/$tarball" -C unpacked
try "$(echo /tmp/unpacked/*)"
INSIDE
chroot "$root" "$BASH" /tmp/try.sh "$(basename "$package")" "$(basename "$tarball")" "$major" "/mnt/$(basename "$program")" \
  "$(basename "$project")" "$link"
echo "the installation for LLVM $major works, and goes without a trace"
