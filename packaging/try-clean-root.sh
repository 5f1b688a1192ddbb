#!/usr/bin/env bash
# A new user's first hour in a clean Debian: makes a root in FOLDER (or uses the one that is there), clones the committed state of this checkout
# into it, and runs there what README and the user documentation print: the demo, README's other commands, the packages (made, installed, used,
# removed) with getting started, Make, CMake, Meson, MPI, shared libraries and Python. Needs root, debootstrap, and a network for apt and Cargo.
# Rust: Debian 12 and sid get a copy of the toolchain that is in use here; Debian 13 installs its own (rustc-web).
# What ran is written to docs/results/distributions.md of this checkout: one row for each distribution and LLVM, of its last run.
# A root has one OpenMP host runtime: LLVM 19 and 22 share one, LLVM 21 (trixie, sid) and 23 (sid) need a root of their own each.
# Usage: try-clean-root.sh bookworm|trixie|sid FOLDER [--llvm MAJOR]... [--mirror URL] [--snapshot] [--demo-only] [--lit] [--test]
#   --mirror URL  Debian's archive; by default that of this machine's apt
#   --snapshot    the archive is as it was on an earlier day: until when its lists are valid is not looked at
#   --demo-only   README's first command alone
#   --lit         the lit tests of the x86_64 device as well
#   --test        README's second command as well, an hour and more
set -euo pipefail

usage() { sed -n 's/^# Usage: /usage: /p' "$0" >&2; exit 2; }
[ $# -ge 2 ] || usage
suite=$1 folder=$2
shift 2
case $suite in bookworm | trixie | sid) ;; *) usage ;; esac
majors=() mirror="" snapshot="" extent=pages
while [ $# -gt 0 ]; do
  case $1 in
    --llvm) majors+=("${2:?}"); shift ;;
    --mirror) mirror=${2:?}; shift ;;
    --snapshot) snapshot=--snapshot ;;
    --demo-only) extent=demo ;;
    --lit) extent=lit ;;
    --test) extent=test ;;
    *) usage ;;
  esac
  shift
done
if [ ${#majors[@]} -eq 0 ]; then
  majors=(19 22)
  [ "$suite" != sid ] || majors=(23)
fi
[ "$(id -u)" -eq 0 ] || { echo "making a root needs an administrator" >&2; exit 1; }

checkout=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${OFFLOOM_IN_NAMESPACE:-}" ]; then
  mkdir -p "$folder"
  folder=$(cd "$folder" && pwd)
  # What is mounted in the root is gone when this ends, however it ends.
  llvms=()
  for major in "${majors[@]}"; do llvms+=(--llvm "$major"); done
  only=()
  [ $extent = pages ] || only=("--${extent/demo/demo-only}")
  OFFLOOM_IN_NAMESPACE=1 exec unshare --mount "$BASH" "$0" "$suite" "$folder" "${llvms[@]}" "${only[@]}" $snapshot ${mirror:+--mirror "$mirror"}
fi

if [ -z "$mirror" ]; then
  # shellcheck disable=SC2016 # apt's own variables
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Component: main' | grep -m1 '/debian/*$') ||
    { echo "apt names no archive of Debian here: say --mirror URL" >&2; exit 1; }
fi
mirror=${mirror%/}
[ -x "$folder/usr/bin/apt-get" ] || debootstrap --variant=minbase --include=ca-certificates "$suite" "$folder" "$mirror"
{
  echo "deb $mirror $suite main"
  # LLVM 21 is there; nothing else is taken from it unasked.
  [ "$suite" != trixie ] || echo "deb $mirror $suite-backports main"
  if [ "$suite" != sid ]; then
    echo "deb $mirror $suite-updates main"
    echo "deb $mirror-security $suite-security main"
  fi
} >"$folder/etc/apt/sources.list"
rm -f "$folder/etc/apt/apt.conf.d/99snapshot"
[ -z "$snapshot" ] || echo 'Acquire::Check-Valid-Until "false";' >"$folder/etc/apt/apt.conf.d/99snapshot"
for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
  [ ! -f $file ] || cp --remove-destination $file "$folder$file"
done
mkdir -p "$folder/srv"
for mounted in /proc /dev /sys; do
  mkdir -p "$folder$mounted"
  mount --rbind "$mounted" "$folder$mounted"
done
if [ "$suite" != trixie ] && [ ! -d "$folder/opt/rust" ]; then
  cp -r "$(cd "$checkout" && rustc --print sysroot)" "$folder/opt/rust"
fi
# A second run builds on the first one's.
if [ -d "$folder/srv/offloom" ]; then
  git -C "$folder/srv/offloom" fetch --quiet "$checkout" HEAD
  git -C "$folder/srv/offloom" reset --quiet --hard FETCH_HEAD
else
  git clone --quiet --no-hardlinks "$checkout" "$folder/srv/offloom"
fi

cat >"$folder/srv/first-hour.sh" <<'INSIDE'
set -euo pipefail
suite=$1 extent=$2
shift 2
export HOME=/srv LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# For the table of what ran: what is being done for which LLVM, and how it ended.
: >/srv/outcome
note() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>/srv/outcome; }
running=
begin() { running=$*; }
finish() { note "${running% *}" "${running##* }" "${1:-yes}"; running=; }
trap '[ -z "$running" ] || finish failed' EXIT
say() { printf '\n======== %s, %s: %s\n' "$suite" "$(date +%T)" "$*"; }
quietly() { "$@" >/srv/log 2>&1 || { cat /srv/log; return 1; }; }
llvms=()
for major in "$@"; do llvms+=(--llvm "$major"); done
cd /srv/offloom

say "what README asks for: Rust, a C compiler"
quietly apt-get update
rust=()
[ "$suite" != trixie ] || rust=(rustc-web cargo-web)
quietly apt-get install --yes --no-install-recommends gcc libc6-dev git "${rust[@]}"
cargo --version

say "cargo xtask demo"
# Megabytes, as apt counts them; what is mounted is left out.
size() { du --apparent-size --block-size=1MB --one-file-system --summarize --total "$@" 2>/dev/null | tail -1 | cut -f1; }
before=$(size /) packages=$(size /var/cache/apt/archives)
SECONDS=0
for major in "$@"; do note demo "$major" failed; done
cargo xtask demo "${llvms[@]}"
for major in "$@"; do note demo "$major" yes; done
echo "in $((SECONDS / 60)) minutes; downloaded: $(($(size /var/cache/apt/archives) - packages)) MB of packages, $(size "$HOME/.cargo/registry/cache") MB of" \
  "crates; on the disk: $(($(size /) - before)) MB more, $(size target dist) MB of them in target and dist"
[ "$extent" != demo ] || exit 0

quietly apt-get install --yes --no-install-recommends python3
page() { python3 test/documentation/Inputs/run-page.py "$1" "/usr/lib/llvm-$major/bin" "$2" "$3"; }
for major in "$@"; do
  say "README with LLVM $major"
  page "$PWD/dist/llvm-$major" "$PWD" README.md
done

say "packages"
quietly apt-get install --yes --no-install-recommends dpkg-dev make cmake meson ninja-build pkg-config libopenmpi-dev openmpi-bin pybind11-dev python3-dev
# A user has nothing of a run before.
rm -rf /srv/user-* "$HOME/.cache/offloom"
for major in "$@"; do
  begin packages "$major"
  quietly cargo xtask dist --llvm "$major"
  quietly apt-get install --yes --no-install-recommends ./dist/packages/offloom-runtime-"$major"_*.deb ./dist/packages/offloom-"$major"_*.deb
  mkdir -p "/srv/user-$major"
  for name in getting-started building mpi shared-libraries; do
    page "/usr/lib/offloom-$major" "/srv/user-$major" "docs/user/$name.md"
  done
  say "removing the packages for LLVM $major"
  quietly apt-get purge --yes "offloom-$major"
  # What was built runs, and is specialised, with what runs programs alone.
  "offloom-$major" doctor
  (cd "/srv/user-$major" && OMP_TARGET_OFFLOAD=mandatory OFFLOOM_JIT_STATS=alone ./wave && "offloom-$major" explain alone)
  quietly apt-get purge --yes "offloom-runtime-$major"
  left=$(find /usr -path "*offloom*$major*" | head -3)
  [ -z "$left" ] || { echo "removing the packages left $left"; exit 1; }
  (cd "/srv/user-$major" && OMP_TARGET_OFFLOAD=mandatory ./wave)
  finish
done
[ "$extent" = test ] || [ "$extent" = lit ] || exit 0

if [ "$extent" = lit ]; then
  for major in "$@"; do
    say "lit tests of the x86_64 device, LLVM $major"
    begin lit "$major"
    quietly cargo xtask setup --llvm "$major"
    cargo xtask lit --llvm "$major" test/passes test/wrapgen test/jit test/launch test/offloom >/srv/lit || { grep '^FAIL' /srv/lit; counts=failed; }
    counts=$(grep -A1 -E '^[0-9]+ passed, [0-9]+ failed$' /srv/lit | paste -sd, | sed 's/,/, /g; s/,  */, /g')
    finish "${counts:-failed}"
  done
  exit 0
fi

say "cargo xtask test"
cargo xtask test "${llvms[@]}"
INSIDE
: >"$folder/srv/outcome"
ended=0
chroot "$folder" /bin/bash /srv/first-hour.sh "$suite" "$extent" "${majors[@]}" || ended=$?

# Ended before anything was tried: what the table says stays.
[ -s "$folder/srv/outcome" ] || exit $ended

# The table: what was there of other rows stays.
page=$checkout/docs/results/distributions.md
revision=$(git -C "$folder/srv/offloom" rev-parse --short=12 HEAD)
case $suite in bookworm) name="Debian 12" ;; trixie) name="Debian 13" ;; sid) name="Debian sid" ;; esac
cell() { awk -F'\t' -v what="$1" -v major="$2" '$1 == what && $2 == major { last = $3 } END { print last == "" ? "not run" : last }' "$folder/srv/outcome"; }
rows() {
  [ ! -f "$page" ] || grep -E '^\| Debian [a-z0-9]+ \|' "$page" | grep -vE "^\| $name \| ($(IFS='|'; echo "${majors[*]}")) \|" || true
  for major in "${majors[@]}"; do
    cut -f2 "$folder/srv/outcome" | grep -qx "$major" || continue
    echo "| $name | $major | \`$revision\` | $(cell demo "$major") | $(cell packages "$major") | $(cell lit "$major") |"
  done
}
table=$(rows | sort)
cat >"$page" <<END
# What ran in clean roots

Written by \`packaging/try-clean-root.sh\`: each row is the last run of a distribution with an LLVM, in a root
that was made for it. *Demo*: README's first command. *Packages*: the packages of \`cargo xtask dist\` were
installed, did what getting started, building, MPI and shared libraries print, and were removed. *Lit*: the lit
tests of passes, links, JIT, launches and \`offloom\`.

| distribution | LLVM | revision | demo | packages | lit, x86_64 device |
| --- | --- | --- | --- | --- | --- |
$table
END
echo "written: $page"
exit $ended
