# contribute.sh - CONTRIBUTING.md as a newcomer follows it, in a copy of the source with the objects of this build: a rung of
# nekbone and of alya-rhs, a new app, and an option of it. What is forgotten is refused or named, and a new rung compiles its
# own file, app.c and work.c.
app=nekbone
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
[ -n "${RT_CHECK_LONG:-}" ] || skip "four builds: make check-long"
find_python
here=$inputs/..
srcdir=$(sed -n 's/^srcdir = //p' "$top/Makefile")
command -v automake >/dev/null && [ -f "$here/Makefile.in" ] && [[ $srcdir = /* || $srcdir = . ]] ||
    skip "no automake, or a build in another folder whose configure was not called by an absolute path"
src=$work/src build=$work/build configure=../src/configure relocate="s,$srcdir/,../src/,g"
[ "$srcdir" != . ] || build=$src configure=./configure relocate= # a build in place
mkdir -p "$src" "$build"
touch begun
tar -C "$here" -c --exclude=.git --exclude='*.o' --exclude='*.a' --exclude=autom4te.cache . | tar -C "$src" -x
chmod -R u+w "$src" # that of make distcheck is not to be written

# A build of the copy, whose objects are those of this build, up to date before the changes.
cd "$build" || exit 1
eval "CONFIG_SHELL= $configure -q $("$top/config.status" --config)" >configure.out 2>&1 || { cat configure.out; fail configure; exit 1; }
for file in $(cd "$top" && find common apps '(' -name '*.[oa]' -o -name '*.Po' -o -name .dirstamp ')'); do
    mkdir -p "${file%/*}"
    case $file in *.Po) sed "$relocate" "$top/$file" >"$file" ;; *) cp "$top/$file" "$file" ;; esac
done
find . -type f -exec touch -r "$work/begun" {} +
cd "$work" || exit 1

# change FILE SED: the file of the copy must have what the expression searches.
change()
{
    cp "$src/$1" before && sed -i "$2" "$src/$1" && ! cmp -s before "$src/$1" || fail "$1 has nothing for: $2"
}

# rung APP FROM NAME TABLE: a rung like another: its file, its line in ladder.def, and in local.mk.
rung()
{
    from=$(tr A-Z- a-z_ <<<"$2") new=$(tr A-Z- a-z_ <<<"$3")
    sed "s/$4_$from\\b/$4_$new/" "$src/apps/$1/cpu/$from.c" >"$src/apps/$1/cpu/$new.c"
    change apps/$1/ladder.def "/^RUNG($2, /{N;p;s/RUNG($2, \\([A-Z]*\\), \"[^\"]*\"/RUNG($3, \\1, \"$2\"/;s/$4_$from\\b/$4_$new/}"
    change apps/$1/local.mk "s,^\\(.*\\)apps/$1/cpu/$from.c,\\1apps/$1/cpu/$new.c apps/$1/cpu/$from.c,"
}
rung nekbone scalar backwards nek
rung alya-rhs cpu-B cpu-trial alya
change apps/alya-rhs/work.c '/{.rung = "cpu-B"/{p;s/cpu-B/cpu-trial/}'
"$python" "$src/tools/rooftop" new-app new-one >new.out || fail "rooftop new-app: $(cat new.out)"
change apps/new-one/new-one.h 's/^\( *\)int64_t n, iterations;.*/&\n\1double trial;/'
change apps/new-one/app.c 's/^\( *\)RT_INT(CONFIG, n,/\1RT_REAL(CONFIG, trial, "trial", "X", "1", 0, 2, "an option"),\n&/'

"$python" "$src/tests/complete.py" "$src" /nowhere >complete.out
for said in "nekbone.md: backwards has no section" "nekbone/work.c: backwards has no row" "nekbone.txt: backwards has no rows" \
    "nekbone/README.md, ladder: backwards has no row" "alya-rhs/README.md, ladder: cpu-trial has no row" \
    "alya-rhs.md: cpu-trial has no section" "alya-rhs.txt: cpu-trial has no rows" "new-one/README.md, options: trial has no row"; do
    grep -qF "$said" complete.out || fail "complete.py does not say: $said"
done
[ "$(wc -l <complete.out)" = 9 ] || fail "complete.py says more: $(cat complete.out)"

cd "$build" || exit 1
# made PROGRAM: builds it, and sets objects to those of its app that were compiled.
made()
{
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL ${MAKE:-make} V=0 "apps/$1/$1" >make.out 2>&1 || { tail -n 20 make.out; fail "make $1"; }
    objects=$(sed -n "s,^  CC  *apps/$1/\\(.*\\)\\.o\$,\\1,p" make.out | sort | tr '\n' ' ')
}
program=$build/apps/nekbone/nekbone
made nekbone
[ "$objects" = "app cpu/backwards " ] || fail "a new rung of nekbone compiles $objects"
refused 2 "backwards is in ladder.def, and work.c of nekbone has no row for it" "$program" --rung scalar --seconds 0
change apps/nekbone/work.c 's/"reference scalar shared/"reference scalar backwards shared/'
made nekbone
[ "$objects" = "work " ] || fail "a row in work.c of nekbone compiles $objects"
valid backwards "$program" --rung backwards --elements 2x2x2 --degree 3 --seconds 0
app=alya-rhs
made alya-rhs
[ "$objects" = "app cpu/cpu_trial work " ] || fail "a new rung of alya-rhs compiles $objects"
valid trial apps/alya-rhs/alya-rhs --rung cpu-trial --cells 4x4x4 --seconds 0
app=new-one
made new-one
apps/new-one/new-one --help | grep -q -- '--trial X' || fail "the new option is not in --help"
abs_top_srcdir=$src abs_top_builddir=$build bash "$src/tests/new-one/cli.sh" || fail "the test of the new app"
abs_top_srcdir=$src "$python" "$src/tests/mutants/mutants.py" --build "$build" --jobs 1 new-one >mutants.out 2>&1 ||
    fail "mutants of the new app: $(cat mutants.out)"
exit $failed
