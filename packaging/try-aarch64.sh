#!/usr/bin/env bash
# Offloom for AArch64 hosts, tried on an x86_64 machine: makes a Debian 13 for building in FOLDER (or uses the one that is there), with a
# second one for arm64 in it, builds the committed state of this checkout for that, and runs it there under qemu-aarch64: the tools compile and
# link the demo, and it and ten programs of test/corpus run as linked by LLVM's tools, by Offloom's, and in modes of the JIT. All must print the
# same. What ran is written to docs/results/aarch64.md of this checkout.
# Needs root, debootstrap, a network for apt and Cargo, and a kernel with binfmt_misc for each user namespace (Linux 6.7): nothing is registered
# outside of this script's own.
# Usage: try-aarch64.sh FOLDER [--mirror URL] [--run-only]
#   --mirror URL  Debian's archive; by default that of this machine's apt
#   --run-only    what was built before, without making or building anything
set -euo pipefail

usage() { sed -n 's/^# Usage: /usage: /p' "$0" >&2; exit 2; }
[ $# -ge 1 ] || usage
folder=$1 mirror="" extent=all
shift
while [ $# -gt 0 ]; do
  case $1 in
    --mirror) mirror=${2:?}; shift ;;
    --run-only) extent=run ;;
    *) usage ;;
  esac
  shift
done
[ "$(id -u)" -eq 0 ] || { echo "making a root needs an administrator" >&2; exit 1; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
checkout=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "$mirror" ]; then
  # shellcheck disable=SC2016 # apt's own variables
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Component: main' | grep -m1 '/debian/*$') ||
    { echo "apt names no archive of Debian here: say --mirror URL" >&2; exit 1; }
fi
mirror=${mirror%/}
major=19
target=aarch64-unknown-linux-gnu

# A program of each: numbers of all sizes, many arguments, objects behind pointers, reductions, several devices, calls through pointers, tables of
# virtual functions, globals, threads.
programs=(array_reductions.cpp const_globals.cpp data_regions.c declare_mapper.c function_pointers.cpp host_constructs.cpp many_arguments.cpp
  nested_data_structures.cpp reductions.cpp templates.cpp)

make_root() {
  [ -x "$folder/usr/bin/apt-get" ] || debootstrap --variant=minbase --include=ca-certificates trixie "$folder" "$mirror"
  printf 'deb %s %s main\n' "$mirror" trixie "$mirror" trixie-updates >"$folder/etc/apt/sources.list"
  for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
    [ ! -f $file ] || cp --remove-destination $file "$folder$file"
  done
  if [ -d "$folder/srv/offloom" ]; then
    git -C "$folder/srv/offloom" fetch --quiet "$checkout" HEAD
    git -C "$folder/srv/offloom" reset --quiet --hard FETCH_HEAD
  else
    git clone --quiet --no-hardlinks "$checkout" "$folder/srv/offloom"
  fi
}

# In the root, as its administrator: packages, arm64's files in /srv/arm64, the build, the programs' objects.
build() {
  cat >"$folder/srv/build.sh" <<'INSIDE'
set -euo pipefail
major=$1 target=$2
shift 2
export HOME=/srv LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
quietly() { "$@" >/srv/log 2>&1 || { tail -50 /srv/log; return 1; }; }
say() { printf '\n======== %s: %s\n' "$(date +%T)" "$*"; }
cd /srv/offloom

say "Debian's packages for building, and those of arm64"
dpkg --add-architecture arm64
quietly apt-get update
quietly apt-get install --yes --no-install-recommends git gcc libc6-dev rustc-web cargo-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu \
  g++-aarch64-linux-gnu qemu-user-static "clang-$major" "clang-tools-$major" "llvm-$major-dev"
# Not installed, since an LLVM of each architecture would be in the same folder: unpacked, which is all that they need.
state=/srv/arm64-state
mkdir -p $state/debs/partial $state/lists/partial /srv/arm64
: >$state/status
quietly apt-get -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::status=$state/status -o Dir::Cache::archives=$state/debs \
  install --yes --no-install-recommends --download-only base-files bash coreutils grep sed diffutils gcc g++ zlib1g-dev libzstd-dev \
  "clang-$major" "clang-tools-$major" "lld-$major" "llvm-$major-dev" "liblld-$major-dev" "libomp-$major-dev"
for package in $state/debs/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar --extract --directory /srv/arm64 --keep-directory-symlink
  rm "$package"
done

say "cargo xtask build --target $target"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
export CXX_aarch64_unknown_linux_gnu=aarch64-linux-gnu-g++ AR_aarch64_unknown_linux_gnu=aarch64-linux-gnu-ar
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64-static -L /srv/arm64" OFFLOOM_LLVM_SYSROOT=/srv/arm64
cargo xtask build --llvm "$major" --target "$target"
rm -rf /srv/arm64/opt/offloom
mkdir -p /srv/arm64/opt
cp -r "dist/$target/llvm-$major" /srv/arm64/opt/offloom

say "the programs' objects"
# Clang for x86_64 compiles them for AArch64: under qemu, this takes most of the time.
rm -rf /srv/arm64/srv/try
mkdir -p /srv/arm64/srv/try
compile=("clang-$major" --target=$target --sysroot=/srv/arm64 -idirafter "/srv/arm64/usr/lib/llvm-$major/lib/clang/$major/include"
  -O2 -fopenmp -fopenmp-targets=$target -c)
for program in "$@"; do
  "${compile[@]}" "test/corpus/sources/$program" -o "/srv/arm64/srv/try/${program%.*}.o"
  "${compile[@]}" -foffload-lto=thin "test/corpus/sources/$program" -o "/srv/arm64/srv/try/${program%.*}.lto.o"
done
cp test/demo/zaxpy.cpp /srv/arm64/srv/try
INSIDE
  # What is mounted in the root is gone when this ends, however it ends.
  unshare --mount "$BASH" -c '
    for mounted in /proc /dev; do mkdir -p "$1$mounted"; mount --rbind "$mounted" "$1$mounted"; done
    exec chroot "$1" /bin/bash /srv/build.sh "${@:2}"' "$BASH" "$folder" "$major" "$target" "${programs[@]}"
}

# In arm64's files, where every program is AArch64's.
run() {
  cat >"$folder/srv/arm64/srv/run.sh" <<'INSIDE'
set -uo pipefail
major=$1 target=$2
shift 2
export HOME=/srv OMP_TARGET_OFFLOAD=mandatory OMP_NUM_THREADS=4 PATH=/opt/offloom/bin:/usr/lib/llvm-$major/bin:/usr/bin:/bin
export OFFLOOM_JIT_CACHE_DIR=/srv/cache
say() { printf '\n======== %s: %s\n' "$(date +%T)" "$*"; }
offload=(-fopenmp "-fopenmp-targets=$target")
own=(--config=/opt/offloom/share/offloom/offloom.cfg "${offload[@]}") jit=(--config=/opt/offloom/share/offloom/offloom-jit.cfg "${offload[@]}")
stock=("${offload[@]}" "-L/usr/lib/llvm-$major/lib" "-Wl,-rpath,/usr/lib/llvm-$major/lib")
failed=0
: >/srv/outcome
outcome() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>/srv/outcome; printf '%s, %s: %s\n' "$1" "$2" "$3"; [ "$3" != no ] || failed=1; }
# NAME WHAT COMMAND...: whether it prints what NAME.expected says, and ends with 0.
same() {
  local name=$1 what=$2
  shift 2
  if "$@" >"$name.out" 2>"$name.errors" && cmp -s "$name.out" "$name.expected"; then
    outcome "$name" "$what" yes
  else
    outcome "$name" "$what" no
    tail -5 "$name.errors"; diff "$name.expected" "$name.out" | head -5
  fi
}
# NAME PROGRAM: modes of the JIT. Every launch of the first must run a variant that is right for it.
modes() {
  rm -rf /srv/cache
  same "$1" "variants at once" env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 "OFFLOOM_JIT_STATS=$1.stats" "$2"
  same "$1" "variants from the cache" env OFFLOOM_JIT=sync "$2"
  same "$1" "variants meanwhile" env OFFLOOM_JIT_CACHE_MODE=off "$2"
  same "$1" "without the JIT" env OFFLOOM_JIT=off "$2"
}
cd /srv/try
uname -m

say "the tools"
offloom --version
wrapgen --version
offloom doctor || failed=1

say "the demo, compiled here"
run_zaxpy() { "./$1" 1024 "$1.numbers" "${2:-1}" | sed 's/).*/)/'; }
clang++ -O2 "${stock[@]}" zaxpy.cpp -o zaxpy.stock && run_zaxpy zaxpy.stock >zaxpy.expected
cat zaxpy.expected
clang++ -O2 "${own[@]}" zaxpy.cpp -o zaxpy.own
same zaxpy "Offloom's tools" run_zaxpy zaxpy.own
cmp zaxpy.stock.numbers zaxpy.own.numbers || failed=1
clang++ -O2 "${jit[@]}" zaxpy.cpp -o zaxpy.jit
same zaxpy "variants at once" env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 bash -c "$(declare -f run_zaxpy); run_zaxpy zaxpy.jit"
cmp zaxpy.stock.numbers zaxpy.jit.numbers || failed=1
OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STATS=zaxpy.stats ./zaxpy.jit 1024 /dev/null 20 && offloom explain zaxpy.stats

for program in "$@"; do
  name=${program%.*}
  say "$program"
  clang++ "$name.o" "${stock[@]}" -o "$name.stock"
  "./$name.stock" >"$name.expected" || { echo "the stock program fails"; failed=1; }
  clang++ "$name.o" "${own[@]}" -o "$name.own"
  same "$name" "Offloom's tools" "./$name.own"
  clang++ "$name.lto.o" "${jit[@]}" -o "$name.jit"
  modes "$name" "./$name.jit"
  clang++ "$name.lto.o" "${own[@]}" -Xoffload-linker --jit=only -o "$name.only"
  same "$name" "an image made at the start" "./$name.only"
done
say "as one number: $(grep -c 'yes$' /srv/outcome) the same, $(grep -c 'no$' /srv/outcome) not"
exit $failed
INSIDE
  # Programs of AArch64 are started through qemu in this namespace alone. It is opened now (F), so the root need not hold it.
  unshare --user --map-root-user --mount --pid --fork --kill-child "$BASH" -c '
    set -e
    root=$1/srv/arm64
    mkdir -p "$1/srv/binfmt_misc" "$root/proc" "$root/dev" "$root/tmp"
    mount -t binfmt_misc none "$1/srv/binfmt_misc"
    printf ":qemu-aarch64:M::\\\\x7fELF\\\\x02\\\\x01\\\\x01\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x02\\\\x00\\\\xb7\\\\x00:" >"$1/srv/magic"
    printf "\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\x00\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xfe\\\\xff\\\\xff\\\\xff:" >>"$1/srv/magic"
    printf "%s:FP" "$1/usr/bin/qemu-aarch64-static" >>"$1/srv/magic"
    cat "$1/srv/magic" >"$1/srv/binfmt_misc/register"
    mount --rbind /dev "$root/dev"
    mount -t proc proc "$root/proc"
    exec chroot "$root" /bin/bash /srv/run.sh "${@:2}"' "$BASH" "$folder" "$major" "$target" "${programs[@]}"
}

if [ $extent = all ]; then
  make_root
  build
fi
ended=0
run || ended=$?

page=$checkout/docs/results/aarch64.md
revision=$(git -C "$folder/srv/offloom" rev-parse --short=12 HEAD)
{
  cat <<END
# What ran for AArch64

Written by \`packaging/try-aarch64.sh\` at revision \`$revision\`, with LLVM $major of Debian 13. Everything was
built on x86_64 and ran under \`qemu-aarch64\`, on libomptarget's device for the host. *The same* is what the
program prints when LLVM's own tools link it. **Nothing of this ran on an Arm machine.**

| program | linked or run by | the same |
| --- | --- | --- |
END
  awk -F'\t' '{ print "| `" $1 "` | " $2 " | " $3 " |" }' "$folder/srv/arm64/srv/outcome"
} >"$page"
echo "written: $page"
exit $ended
