#!/usr/bin/env bash
# Installs both packages in a root of their own over BASE; builds and runs a program with what was installed; removes what builds, and runs it
# again with what is for running; removes that; and does the same from the tarball. Nothing of it reaches BASE. That is `/`, in which the checkout and Rust are hidden, or the folder of another Debian
# system: into that one apt-get brings what the package says it needs. Where the machine allows no such root (most containers), the packages
# and the tarball are unpacked in folders and tried from there.
# Usage: try-installation.sh RUNTIME.deb BUILD.deb TARBALL LLVM_MAJOR PROGRAM.cpp CMAKE_PROJECT SCRATCH BASE HIDDEN_FOLDER...
set -euo pipefail

runtime=$1 package=$2 tarball=$3 major=$4 program=$5 project=$6 scratch=$7 base=$8

if [ -z "${OFFLOOM_IN_NAMESPACE:-}" ]; then
  root=()
  [ "$(id -u)" -eq 0 ] || root=(--map-root-user)
  mkdir -p "$scratch"/{upper,work,root,given}
  # shellcheck disable=SC2016
  if unshare --mount "${root[@]}" "$BASH" -c 'mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" "$1/root"' \
    probe "$scratch" "$base"; then
    OFFLOOM_IN_NAMESPACE=1 exec unshare --mount "${root[@]}" "$BASH" "$0" "$@"
  fi
  [ "$base" = / ] || { echo "no root over $base can be mounted here: mounting it needs an administrator"; exit 1; }
  echo "no root of its own can be mounted here: the packages and the tarball are tried from folders, and dpkg's part is left out"
fi

# Builds and runs the program with the installation in $1, and shows that a kernel was specialised.
attempt=$(cat <<'ATTEMPT'
try() {
  "clang++-$major" --config="$1/share/offloom/offloom-jit.cfg" -O2 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu \
    "$program" -o program
  run "$1"
  "$1/bin/wrapgen" --version
}

# Runs the program, and shows by the installation in $1 that a kernel was specialised.
run() {
  OMP_TARGET_OFFLOAD=mandatory OFFLOOM_JIT=sync OFFLOOM_JIT_STATS="$HOME/stats" ./program >"$HOME/output"
  "$1/bin/offloom" --json explain "$HOME/stats" | grep -q '"origin": "compiled"'
  rm -r "$HOME/.cache/offloom" "$HOME/stats"
}
ATTEMPT
)

if [ -z "${OFFLOOM_IN_NAMESPACE:-}" ]; then
  eval "$attempt"
  export HOME=$scratch/home LC_ALL=C
  mkdir -p "$HOME" "$scratch/unpacked"
  cd "$scratch/unpacked"
  dpkg-deb --extract "$runtime" package
  dpkg-deb --extract "$package" package
  try "$PWD/package/usr/lib/offloom-$major"
  "$PWD/package/usr/bin/offloom-$major" --version
  mkdir tarball
  tar -xf "$tarball" -C tarball
  try "$(echo "$PWD"/tarball/*)"
  exit
fi

shift 8
root=$scratch/root
mkdir -p "$scratch"/{upper,work,root,given}
cp -r "$runtime" "$package" "$tarball" "$program" "$project" "$scratch/given"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$scratch/upper,workdir=$scratch/work" "$root"
for folder in /proc /dev; do mount --rbind "$folder" "$root$folder"; done
mkdir -p "$root/mnt"
mount --bind "$scratch/given" "$root/mnt"
for hidden in "$@"; do
  [ ! -d "$root$hidden" ] || mount -t tmpfs tmpfs "$root$hidden"
done
mount -t tmpfs tmpfs "$root/tmp"

cat >"$root/tmp/try.sh" <<INSIDE
$attempt
INSIDE
cat >>"$root/tmp/try.sh" <<'INSIDE'
set -euo pipefail
runtime=$1 package=$2 tarball=$3 major=$4 program=$5 project=$6 base=$7
export HOME=/tmp/home LC_ALL=C PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
mkdir -p "$HOME"
cd /tmp

echo "== the packages"
if [ "$base" = / ]; then
  dpkg --install "/mnt/$runtime" "/mnt/$package"
else
  export DEBIAN_FRONTEND=noninteractive
  apt-get update
  apt-get install --yes --no-install-recommends "/mnt/$runtime" "/mnt/$package" cmake make
fi
"/usr/bin/offloom-$major" --version
"/usr/bin/offloom-$major" doctor
try "/usr/lib/offloom-$major"
cmake -S "/mnt/$project" -B build -DCMAKE_CXX_COMPILER="clang++-$major" \
  "-DOffloom_DIR=/usr/lib/cmake/Offloom-$major" >/dev/null
cmake --build build >/dev/null
OMP_TARGET_OFFLOAD=mandatory ./build/app
for page in "offloom-$major" "offloom-$major-cache" "wrapgen-$major-link"; do
  [ -s "/usr/share/man/man1/$page.1" ] || { echo "no man page $page"; exit 1; }
done
for name in offloom wrapgen; do
  bash -c "source /usr/share/bash-completion/completions/$name-$major && complete -p $name-$major" >/dev/null
done
[ -s "/usr/share/doc/offloom-$major/user/getting-started.md" ] || { echo "no user documentation"; exit 1; }
[ "$(dpkg-query -W -f '${Installed-Size}' "offloom-runtime-$major")" -gt 1000 ] || { echo "no installed size"; exit 1; }
dpkg --purge "offloom-$major" >/dev/null
[ ! -e "/usr/bin/wrapgen-$major" ] || { echo "removing the package left wrapgen"; exit 1; }
"/usr/bin/offloom-$major" doctor
run "/usr/lib/offloom-$major"
dpkg --purge "offloom-runtime-$major" >/dev/null
for left in "/usr/lib/offloom-$major" "/usr/bin/offloom-$major" "/usr/lib/cmake/Offloom-$major" "/usr/share/doc/offloom-$major" \
  "/usr/share/man/man1/offloom-$major.1"; do
  [ ! -e "$left" ] || { echo "removing the package left $left"; exit 1; }
done

echo "== the tarball"
mkdir unpacked
tar -xf "/mnt/$tarball" -C unpacked
try "$(echo /tmp/unpacked/*)"
INSIDE
chroot "$root" "$BASH" /tmp/try.sh "$(basename "$runtime")" "$(basename "$package")" "$(basename "$tarball")" "$major" "/mnt/$(basename "$program")" \
  "$(basename "$project")" "$base"
echo "the installation for LLVM $major works, and goes without a trace"
