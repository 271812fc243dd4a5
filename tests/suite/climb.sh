# climb.sh - rooftop climb writes a lesson; an exercise lacks its part, and grade tells right from wrong.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1
"$python" -c 'import jinja2' 2>import || skip "no Jinja2: $(tail -n 1 import)"
rooftop=$pages
nekbone=$top/apps/nekbone/nekbone
export OMP_NUM_THREADS=1
tiny="--elements 2x2x2 --degree 2 --iterations 5"

# --- the lesson ---
ends 0 $rooftop climb nekbone --bindir "${nekbone%/*}" --device cpu --seconds 0.01 --into lesson --slides -- $tiny
absent=$("$nekbone" --device cpu --list --ladder | grep -E -A 1 '^kokkos(-fused)? ' | grep -c 'absent:') # five CPU rungs, kokkos and kokkos-fused
pages=$(grep -c '<section class="rung"' lesson/lesson.html)
says "$((7 - absent)) run here"
[ "$pages" = $((7 - absent)) ] || fail "$pages pages of rungs"
[ "$(wc -l <err)" -ge 2 ] && grep -q '^ladder: [0-9]* s$' err || fail "no word on how far it is: $(cat err)"
[ -z "$(find lesson -name '.part*')" ] || fail "a part of a file is left: $(ls -A lesson)"
grep -q '<script\|src="http\|href="http' lesson/lesson.html && fail "the page needs more than itself"
grep -qF 'What did not run here' lesson/lesson.html || [ "$(grep -c '^<p>VALID, ' lesson/lesson.html)" = 15 ] || fail "nothing on what is absent"
awk '/id="rung-2"/ { on = 1 } /id="rung-3"/ { on = 0 } on' lesson/lesson.html >scalar.html
awk '/<details>/ { hidden = 1 } !hidden; /<\/details>/ { hidden = 0 }' scalar.html >shown
grep -qF 'The functions to look at' scalar.html && grep -qF 'nek_apply_factors(' scalar.html || fail "scalar's functions are not there"
grep -qF '<strong>Predict.</strong>' shown || fail "the question is not shown"
grep -qF '120,000 flops' scalar.html || fail "there is no answer"
grep -q '120,000 flops\|us per\|limits' shown && fail "the answer, or what was measured, is not folded away"
grep -q ' us .* gather-scatter' scalar.html || fail "where the time goes is not there"
grep -q 'What limits it here: ' scalar.html || fail "nothing on what limits the rung"

[ "$(wc -c <lesson/lesson.html)" -lt 100000 ] || fail "lesson.html has $(wc -c <lesson/lesson.html) bytes"
grep -q '<script\|src="http\|href="http' lesson/slides.html && fail "the slides need more than themselves"

# --- exercises: the list, what the folder holds, and that a starter is right ---
ends 0 $rooftop exercise nekbone
says "scalar "
ends 0 $rooftop exercise nekbone scalar --build "$top" --into start
grep -q 'The rung to start from is apps/nekbone/cpu/reference.c' start/README.md || fail "no rung before: $(cat start/README.md)"
grep -qF '120,000 flops' start/README.md && fail "the task tells the answer"
cp start/scalar.c mine.c
ends 0 $rooftop exercise nekbone scalar --hint 3
says "Along j there are n products"
if [ -x "$here/tools/rooftop" ]; then
    ends 0 start/check.sh --seconds 0.01 -- --device cpu $tiny
    says "right: "
    grep -q '^speed: ' out || fail "nothing on speed: $(cat out)"
    ROOFTOP=/nothing ends 3 start/check.sh
    says "no /nothing here; name this machine's tools/rooftop"
fi
"$python" - "$here/tools" <<'end' >starters || fail "no starters"
import os, sys
sys.path.insert(0, sys.argv[1])
from rooftop_suite import results
from rooftop_suite.course import tasks
for app in results.APPS:
    for name in tasks.names(app):
        task = tasks.find(app, name)
        if task.file.endswith('.c'):  # CUDA takes long
            os.makedirs(f'starter/{app}/{name}')
            with open(f'starter/{app}/{name}/{task.base}', 'w') as out:
                out.write(tasks.started(task))
            print(app, name, f'starter/{app}/{name}/{task.base}')
end
[ "$(wc -l <starters)" -ge 10 ] || fail "ten starters for CPUs: $(cat starters)"
while read -r of name source; do
    gcc -std=c11 -fopenmp -w -fsyntax-only -I"$top" -I"$here" -I"$here/common" -I"$here/apps/$of" -I"$here/apps/$of/cpu" \
        "$source" 2>err || fail "$of $name: the starter does not compile: $(cat err)"
    [ -z "${RT_CHECK_LONG:-}" ] || ends 0 $rooftop grade $of $name "$source" --build "$top" --seconds 0
done <starters

# --- what is refused ---
refuse_all <<END
2|there is no app 'nothing'|climb nothing
2|of nekbone, not of alya-rhs|climb alya-rhs --bindir $top/apps/alya-rhs --result lesson/ladder.json --into lesson
2|nekbone has no exercise 'nothing'; known: scalar, |exercise nekbone nothing
2|is not overwritten|exercise nekbone scalar --into start
2|nothing: No such file|grade nekbone scalar nothing
2|not a build|grade nekbone scalar mine.c --build start
END
cmp -s mine.c start/scalar.c || fail "what was written is gone"

# --- grade: what is wrong with a solution ---
scalar=$here/apps/nekbone/cpu/scalar.c
mkdir class tmp
cp "$scalar" class/right.c
sed 's/&t->add_k, Dt, ut, w/\&t->add_k, D, ut, w/' "$scalar" >class/wrong.c
# an endless loop that sleeps: it takes its time limit, and no processor time of other tests
sed 's/^    nek_transpose(n.*/    int pause(void);\n    for (volatile int i = 0; i < 1;) pause();\n&/' "$scalar" >class/loops.c
sed 's/^    nek_transpose(n.*/    *(volatile int *)8 = 1;\n&/' "$scalar" >class/crashes.c
sed 's/^    nek_transpose(n.*/    int wrong(\n&/' "$scalar" >class/not_c.c
while IFS='|' read -r status name text; do
    TMPDIR=$PWD/tmp ends $status $rooftop grade nekbone scalar class/$name.c --build "$top" --seconds 0 --time-limit $([ $name = loops ] && echo 1 || echo 60) -- --device cpu $tiny
    says "$text"
    [ "$(tail -n 1 out)" = "nekbone scalar: $([ $status = 0 ] && echo VALID || echo INVALID)" ] || fail "$name: $(cat out)"
done <<'end'
0|right|right: 
1|wrong|wrong: 
1|loops|still running after its time limit of 1 s: a loop without an end
1|crashes|the program crashed (ended by SIGSEGV)
1|not_c|it is not built: not_c.c:
end
ends 3 $rooftop grade nekbone scalar mine.c --build "$top" --seconds 0 -- --elements none
says "scalar: could not be judged: ended with 2: nekbone: --elements none"
left=$(grep -l "$PWD/tmp" /proc/[0-9]*/cmdline 2>/dev/null) && fail "a process of a submission is left: $left"
[ -z "$(ls tmp)" ] || fail "left in the temporary folder: $(ls tmp)"

exit $failed
