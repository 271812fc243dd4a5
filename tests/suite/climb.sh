# climb.sh - rooftop climb writes a lesson; an exercise lacks its part, and grade tells right from wrong.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1
nekbone=$top/apps/nekbone/nekbone
export OMP_NUM_THREADS=1
tiny="--elements 2x2x2 --degree 2 --iterations 5"

# --- the lesson ---
refuses 2 "there is no app 'nothing'" climb nothing
refuses 2 "nekbone has no rung 'nothing'" exercise nekbone nothing
refuses 2 "is the oracle" exercise nekbone reference
ends 0 $rooftop climb nekbone --bindir "${nekbone%/*}" --device cpu --seconds 0.01 --into lesson -- $tiny
absent=$("$nekbone" --device cpu --list | grep -A 1 '^kokkos ' | grep -c 'absent:') # five CPU rungs, and kokkos
says "$((6 - absent)) run here"
[ "$(wc -l <err)" -ge 2 ] && grep -q '^ladder: [0-9]* s$' err || fail "no word on how far it is: $(cat err)"
[ -z "$(find lesson -name '.part*')" ] || fail "a part of a file is left: $(ls -A lesson)"
grep -q '<script\|src="http\|href="http' lesson/lesson.html && fail "the page needs more than itself"
grep -qF '<span class="del">-static void gradient_and_factors(' lesson/lesson.html || fail "no diff from reference to scalar"
grep -qF 'Not run here: ' lesson/lesson.html || [ "$(grep -c '^VALID, ' lesson/lesson.md)" = 15 ] || fail "nothing on what is absent"
[ "$(grep -c '<section class="rung"' lesson/lesson.html)" = "$(grep -c '^RUNG(' "$here/apps/nekbone/ladder.def")" ] || fail "not a page a rung"
awk '/^## 2/ { on = 1 } /^## 3/ { on = 0 } on' lesson/lesson.md >scalar.md
awk '/<details>/ { hidden = 1 } /<\/details>/ { hidden = 0 } !hidden' scalar.md >shown
grep -qF '**Predict.**' shown || fail "the question is not shown"
grep -qF '120,000 flops' scalar.md || fail "there is no answer"
grep -q '120,000 flops\|us per\|limits' shown && fail "the answer, or what was measured, is not folded away"
grep -q '^  gather-scatter' scalar.md || fail "where the time goes is not there"
grep -q 'What limits it here: ' scalar.md || fail "nothing on what limits the rung"

# --- an exercise: without its part it is INVALID, and with it VALID ---
ends 0 $rooftop exercise nekbone scalar --into task
[ -x task/check.sh ] && cmp -s task/before/reference.c "$here/apps/nekbone/cpu/reference.c" || fail "no test, or no rung before"
grep -q 'nek_apply_factors(n3' task/scalar.c && fail "the part to write is there"
grep -q 'nek_product_chosen(view, NEK_TALL, false)' task/scalar.c || fail "more is gone than the part to write"
grep -qF '120,000' task/README.md && fail "the task tells the answer"
cp task/scalar.c mine.c
refuses 2 "is not overwritten" exercise nekbone scalar --into task
cmp -s mine.c task/scalar.c || fail "what was written is gone"
refuses 2 "not a build" grade nekbone scalar mine.c --build task
ends 1 $rooftop grade nekbone scalar mine.c --build "$top" -- --device cpu $tiny
says "operator = reference, point by point"
[ "$(tail -n 1 out)" = "nekbone scalar: INVALID" ] || fail "last line: $(tail -n 1 out)"
ends 0 $rooftop grade nekbone scalar "$here/apps/nekbone/cpu/scalar.c" --build "$top" --repeats 1 -- --device cpu $tiny \
    --seconds 0.01
says "scalar: yours is "
says "this is the repository's own file"
[ "$(tail -n 1 out)" = "nekbone scalar: VALID" ] || fail "last line: $(tail -n 1 out)"
if [ -n "${RT_CHECK_LONG:-}" ]; then
    { cat "$here/apps/nekbone/cpu/scalar.c"; echo 'int nek_judge_nothing = 1;'; } >cheat.c
    ends 1 $rooftop grade nekbone scalar cheat.c --build "$top" -- --device cpu $tiny
    says "defines nek_judge_nothing, which is not the rung's"
    sed 's/&t->add_k, Dt, ut, w/\&t->add_k, D, ut, w/' "$here/apps/nekbone/cpu/scalar.c" >transposed.c
    ends 1 $rooftop grade nekbone scalar transposed.c --build "$top" -- --device cpu $tiny
    sed 's/static void element/static void elephant/' "$here/apps/nekbone/cpu/scalar.c" >misspelt.c
    ends 1 $rooftop grade nekbone scalar misspelt.c --build "$top" -- --device cpu $tiny
    says "INVALID: it is not built"
fi

exit $failed
