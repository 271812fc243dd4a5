# recipes.sh - the recipes of packaging/: each can be read by its language, passes only options that exist, and is in the
# table of docs/building.md. It finds a fault in copies with one line changed.
app=nekbone
here=$(cd "${abs_top_srcdir:-.}" && pwd)
. "$here/tests/common/lib.sh" || exit 1
[ -d "$here/packaging" ] || skip "no packaging/"
find_python
yaml=
for reader in "$python" /usr/bin/python3; do
    "$reader" -c 'import yaml' 2>/dev/null && yaml=$reader
done
lua=$(command -v luac luac5.4 luac5.3 luac5.1 | head -n 1)

# Options of the commands that a recipe calls, or that its comment tells one to call: reframe, Slurm, apt and tar, Apptainer,
# buildah and podman, EasyBuild, Spack, hipcc, JUBE, Benchpark.
foreign="exec-policy account partition job-name nodes ntasks ntasks-per-node cpus-per-task hint exclusive time signal requeue
    export gres gpus gpus-per-task mpi cpu-bind gpu-bind distribution no-install-recommends strip-components build-arg bind
    nv fakeroot volume rm entrypoint from robot sourcepath cuda-compute-capabilities no-checksum offload-arch tag dest"

# list_options [FILE..]: the options in a text. --without-X is there where --with-X is.
list_options()
{
    grep -ohE -e '(^|[^A-Za-z0-9_-])--[a-z][a-z0-9-]*[a-z0-9]' "$@" | sed -E 's/^[^-]*//; s/^--without-/--with-/' | sort -u
}

{
    bash "$here/configure" --help
    for name in nekbone alya-rhs fun3d-mcpi gfnn-wave; do
        "$top/apps/$name/$name" --help
    done
    for command in run scale report doctor verify; do
        "$python" "$here/tools/rooftop" $command --help
    done
    printf ' --%s\n' --with --help $foreign
} >help.out 2>&1
list_options help.out >known

# faults_of FOLDER: prints a line for each fault of the recipes in it.
faults_of()
{
    for recipe in "$1"/*/*; do
        case $recipe in
        *.py | *.eb) "$python" -c 'import sys; compile(open(sys.argv[1]).read(), "", "exec")' "$recipe" 2>&1 ;;
        *.sbatch) bash -n "$recipe" 2>&1 ;;
        *.yaml) [ -z "$yaml" ] || "$yaml" -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' "$recipe" 2>&1 ;;
        *.lua) [ -z "$lua" ] || $lua -p "$recipe" 2>&1 ;;
        *.def | *.Containerfile) ;; # their builders alone read these
        *) echo "nobody reads it" ;;
        esac | sed -n "\$s#^#$recipe: #p"
        # The Spack recipe makes --with-X of the second column of a table.
        { list_options "$recipe"; sed -nE 's/^ +\("[a-z]+", "([a-z]+)", "[a-z]+"\),$/--with-\1/p' "$recipe"; } | sort -u |
            comm -23 - known | grep -vx -e --with -e --without | sed "s#^#$recipe: no such option: #"
        name=${recipe#"$1"/}
        grep -qF "| [$name](../packaging/$name) | " "$here/docs/building.md" || echo "$recipe: docs/building.md has no row"
    done
}

found=$(faults_of "$here/packaging")
[ -z "$found" ] || fail "$found"

while IFS='|' read -r recipe change wanted; do
    rm -rf bad && cp -r "$here/packaging" bad && chmod -R u+w bad
    sed -i "$change" "bad/$recipe"
    found=$(faults_of bad)
    grep -qF -e "$wanted" <<<"$found" || fail "$recipe with $change: $found"
done <<END
spack/package.py|s/"blas"/"dgemm"/|spack/package.py: no such option: --with-dgemm
slurm/cpu.sbatch|s/--grace/--mercy/|slurm/cpu.sbatch: no such option: --mercy
slurm/gpu.sbatch|s/^fi/end/|slurm/gpu.sbatch: 
easybuild/rooftop.eb|s/--disable-native/--disable-naive/|easybuild/rooftop.eb: no such option: --disable-naive
ramble/application.py|s/--warm-up/--warmup/|ramble/application.py: no such option: --warmup
${yaml:+jube/rooftop.yaml|s/^step:/step/|jube/rooftop.yaml: }
${lua:+lmod/rooftop.lua|s/^help(/help/|lmod/rooftop.lua: }
END
exit $failed
