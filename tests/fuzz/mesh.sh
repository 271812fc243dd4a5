# mesh.sh - libFuzzer gives the mesh readers damaged files for a minute: fuzz_mesh.c, with clang's sanitizers.
app=fuzz
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
[ -n "${RT_CHECK_LONG:-}" ] || skip "a minute of fuzzing: make check-long"
command -v clang >/dev/null || skip "no clang"
echo 'int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long bytes) { return data && !bytes; }' >try.c
clang -fsanitize=fuzzer,address,undefined try.c -o try 2>/dev/null || skip "clang has no libFuzzer"

mkdir corpus
cp "$inputs"/alya-rhs/cube*.msh "$inputs"/fun3d-mcpi/mixed* corpus
printf '\020' >>corpus/mixed.b8.ugrid # names that end so
printf '\040' >>corpus/mixed.lb8.ugrid
source=$inputs/..
clang -std=c11 -D_POSIX_C_SOURCE=200809L -g -O1 -fsanitize=fuzzer,address,undefined -I"$top" -I"$source" -I"$source/common" \
    "$source"/tests/fuzz/fuzz_mesh.c "$source"/common/io/scan.c "$source"/common/base/{file,numbers,text}.c \
    "$source"/common/mesh/{[bgu]*,read}.c -lm -o fuzz_mesh || { fail "fuzz_mesh.c is not built"; exit 1; }
./fuzz_mesh -timeout=10 -rss_limit_mb=2048 -max_total_time=60 corpus >out 2>&1 || fail "$(tail -n 40 out)"
exit $failed
