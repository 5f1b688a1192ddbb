# Links programs with arguments that decide which members of libraries the host linker takes. The kernels in the device image must be
# those that the host code in the program asks for, and the program must run.
#
#   link.sh LLVM_BIN DROPIN WRAPGEN "COMPILE OPTIONS" "LINK OPTIONS"
#
# Prints the functions with a target region that each program has; ends with 1 where an image has others.
set -eu
bin=$1 dropin=$2 wrapgen=$3 compile=$4 link=$5
clang="$bin/clang -O1 $compile"

# Each function has a region; `one` calls `two`.
define() {
  cat << END
${3:-}
int $1(int x) {
#pragma omp target map(tofrom : x)
  x += 1;
  return ${2:-}(x);
}
END
}
define one two 'int two(int);' > one.c
for name in two three four; do define $name > $name.c; done
# The same function again, with a region in another line.
define one '' '
' > again.c
echo 'int one(int); int main(void) { return one(0) == 0; }' > main.c
echo 'int one(int); int four(int) __attribute__((weak)); int main(void) { return one(0) == 0 || four; }' > weak.c
echo 'int three(int); int needs(void) { return three(1); }' > needs.c
for source in main weak needs one two three four again; do
  # Position-independent, as they go into shared libraries, too.
  $clang -fPIC -c $source.c -o $source.o &
done
wait
mkdir -p libraries root/libraries own
ar=$bin/llvm-ar
$ar rcs libraries/libmembers.a one.o two.o three.o four.o
$ar rcsT libthin.a one.o two.o three.o
$ar rcs libraries/libthree.a three.o
$ar rcs libfirst.a one.o two.o
$ar rcs libsecond.a again.o
$ar rcs libboth.a one.o two.o four.o
$clang -B "$dropin" -shared one.o two.o $link -o libboth.so
$clang -shared -B "$dropin" needs.o $link -o libneeds.so
cp libraries/libmembers.a root/libraries/libinside.a
cp libraries/libmembers.a own/libown.a
echo '/* GNU ld script */ OUTPUT_FORMAT(elf64-x86-64) INPUT(-lmembers)' > libscript.so
echo 'GROUP ( AS_NEEDED ( libm.so.6 ) libraries/libmembers.a )' > libgroup.a
echo "INPUT ( /libraries/libinside.a )" > root/libraries/libscripted.so
echo 'main.o @inner' > outer
echo '-Llibraries "-lmembers"' > inner
# More than the system lets a program have as arguments.
for ((i = 0; i < 24000; i++)); do
  echo "-L/there/is/no/such/folder/$(printf '%0100d' $i)"
done > many
cat > ld-elsewhere << END
#!/bin/sh
# A linker that was built to search a folder of its own.
if [ "\$*" = --verbose ]; then
  echo 'SEARCH_DIR("=/none"); SEARCH_DIR("$PWD/own");'
  exit
fi
exec /usr/bin/ld "\$@" -L$PWD/own
END
chmod +x ld-elsewhere

# The functions of the regions that a part of `wrapgen inspect` shows.
functions() { sed -n "s/$1__omp_offloading_[0-9a-f]*_[0-9a-f]*_\([a-z]*\)_l\([0-9]*\)\$/\1 \2/p" inspected | sort; }

link() {
  form=$1
  shift
  for linker in ld ld.lld; do
    # GNU ld has no --start-lib.
    test "$form-$linker" != lib-ld || continue
    path=/usr/bin/ld
    test $linker = ld || path=$bin/ld.lld
    test "$form" != own || path=$PWD/ld-elsewhere
    $clang -B "$dropin" --ld-path="$path" "$@" $link -Wl,-rpath,"$PWD" -o program
    "$wrapgen" inspect program > inspected
    functions '^target region .* ' > host
    functions '^  kernel ' > device
    diff host device
    OMP_TARGET_OFFLOAD=mandatory ./program
    echo "$form, $linker:" $(sed 's/ 3$//; s/ 4$/ again/' device)
  done
}

link search main.o -Llibraries -lmembers
link search-behind main.o -lmembers -Llibraries
link exact main.o -Llibraries -l:libmembers.a
link thin main.o libthin.a
link weak weak.o libraries/libmembers.a
link undefined -Wl,-u,four,--undefined=three main.o libraries/libmembers.a
link whole main.o -Wl,--whole-archive libraries/libmembers.a -Wl,--no-whole-archive
link push-state main.o -Llibraries -Wl,--push-state,--whole-archive -lthree -Wl,--pop-state -lmembers
link dynamic main.o -L. -lboth
link static main.o -L. -Wl,-Bstatic -lboth -Wl,-Bdynamic
link push-static main.o -L. -Wl,--push-state,-Bstatic -lboth -Wl,--pop-state -lneeds -Llibraries -lthree
link shared-needs main.o -L. -Llibraries -Wl,--no-as-needed -lneeds -lmembers
link lib main.o -Wl,--start-lib one.o two.o three.o -Wl,--end-lib four.o
link order libfirst.a main.o libsecond.a
link group -Wl,--start-group libfirst.a main.o libsecond.a -Wl,--end-group
link script main.o -L. -Llibraries -lscript
link script-file main.o ./libgroup.a
# GNU ld looks there also for what shared libraries need.
inside=-Wl,--unresolved-symbols=ignore-in-shared-libs,-w
link sysroot main.o $inside -Wl,--sysroot="$PWD/root" -Wl,-L=/libraries -linside
link sysroot-script main.o $inside -Wl,--sysroot="$PWD/root" -Wl,-L=/libraries -lscripted
link own main.o -lown
link exclude main.o -Wl,--exclude-libs,libmembers.a libraries/libmembers.a
link exclude-all main.o -Wl,-exclude-libs -Wl,ALL libraries/libmembers.a
link nested -Wl,@outer
# The same where the wrapper has nothing to do.
echo 'int main(void) { return 0; }' > plain.c && $bin/clang -c plain.c -o plain.o
link plain plain.o -Wl,@many
link many main.o -Wl,@many -Llibraries -lmembers
