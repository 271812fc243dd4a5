/*
 * test_compiled.c - compiles rung `compiled` with NVRTC, on a machine without a GPU.
 *
 * Checks that the text compiles in each variant for a current GPU, and that values that exclude
 * each other are refused before NVRTC sees them. Whether the kernels are right is checked on a GPU
 * (gpu.sh).
 */
#include "config.h"
#include <string.h>
#include "tests/common/check.h"
#include "apps/nekbone/nekbone.h"

#if RT_HAVE_NVRTC
#include "apps/nekbone/cuda/compiled.h"
#include "machine/nvrtc.h"

enum { H100 = 90, NEWER_THAN_ALL = 999 };

/* Sets `choice` to the indices of the values in "name=value,.."; leaves the others as they are.
 * Ends the test if a name or value is unknown. */
static void parse(const char *choose, int choice[RT_TUNE_PARAMETERS])
{
    char text[256];
    snprintf(text, sizeof text, "%s", choose);
    for (int p = 0; p < nek_compiled.rung.n_parameters; p++)
        choice[p] = nek_compiled.rung.parameters[p].initial;
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
        bool found = false;
        for (int p = 0; p < nek_compiled.rung.n_parameters; p++) {
            const rt_parameter_t *parameter = &nek_compiled.rung.parameters[p];
            size_t len = strlen(parameter->name);
            if (strncmp(word, parameter->name, len) != 0 || word[len] != '=')
                continue;
            for (int v = 0; parameter->values[v]; v++)
                if (strcmp(parameter->values[v], word + len + 1) == 0) {
                    choice[p] = v;
                    found = true;
                }
        }
        if (!found)
            printf("no such choice: %s\n", word);
        CHECK(found);
    }
}

/* Compiles with that choice; returns whether the result is machine code. */
static bool compiles(int n, const char *choose, int capability)
{
    int choice[RT_TUNE_PARAMETERS];
    const nek_config_t config = {.n = n};
    void *image;
    size_t bytes;
    parse(choose, choice);
    char text[512];
    const char *why = nek_compiled.rung.refuse_choice(&config, choice);
    if (!why && !nek_compile(n, 7, choice, capability, &image, &bytes, text, sizeof text))
        why = text;
    if (why)
        printf("n = %d, %s: %s\n", n, choose, why);
    CHECK(!why);
    if (why)
        return false;
    const bool code = bytes > 1000 && memcmp(image, "\177ELF", 4) == 0;
    CHECK(code || (bytes > 1000 && strstr(image, "nek_element"))); /* PTX is text */
    free(image);
    return code;
}

/* Catches a variant of the kernel whose text is wrong and that no other test compiles. */
static void check_variants(void)
{
    CHECK(compiles(2, "", H100));
    CHECK(compiles(3, "rows=shared,matrix=shared,prefetch=no,factors=cached", H100));
    CHECK(compiles(3, "column=shared,unroll=2,vectors=streamed,elements=5", H100));
    CHECK(compiles(3, "sizes=argument", H100));
    CHECK(compiles(4, "sizes=argument,unroll=4,matrix=shared,prefetch=no", H100));
    CHECK(compiles(3, "layout=lines,elements=2,blocks=4", H100));
    CHECK(compiles(4, "layout=lines,matrix=shared,prefetch=no,vectors=cached", H100));
    CHECK(!compiles(2, "", NEWER_THAN_ALL)); /* PTX, for the driver to compile */
}

static void refused(int n, const char *choose, const char *reason)
{
    int choice[RT_TUNE_PARAMETERS];
    const nek_config_t config = {.n = n};
    parse(choose, choice);
    const char *why = nek_compiled.rung.refuse_choice(&config, choice);
    if (!why || !strstr(why, reason))
        printf("n = %d, %s: %s\n", n, choose, why ? why : "not refused");
    CHECK(why && strstr(why, reason));
}

/* Checks that choices are refused that would not compile, not launch, or index registers. */
static void check_constraints(void)
{
    refused(10, "sizes=argument,column=registers", "column in registers needs known sizes");
    refused(10, "column=registers,unroll=2", "all layers");
    refused(10, "sizes=argument,rows=registers", "rows in registers need known sizes");
    refused(10, "sizes=argument,unroll=all", "not known");
    refused(10, "layout=lines,column=shared", "lines are in registers");
    refused(10, "layout=lines,sizes=argument", "lines are in registers");
    refused(10, "elements=12", "more threads than a block");
    refused(10, "elements=8,blocks=3", "2048 threads");
    refused(24, "column=shared", "shared memory");
    for (int n = NEK_MIN_N; n <= NEK_MAX_N; n++) {
        int choice[RT_TUNE_PARAMETERS];
        const nek_config_t config = {.n = n};
        parse("", choice);
        CHECK(nek_compiled.rung.refuse_choice(&config, choice) == NULL); /* the default */
        parse("layout=lines", choice);
        CHECK(nek_compiled.rung.refuse_choice(&config, choice) == NULL);
    }
}

/* Checks that an error is one line: the first of NVRTC's. */
static void check_errors(void)
{
    void *image;
    size_t bytes;
    const char *options[] = {"-DVALUE=missing"};
    char why[512] = "";
    CHECK(!rt_nvrtc_compile("__global__ void f(int *x)\n{\n    *x = VALUE;\n    y = 1;\n}\n",
                            "text.cu", H100, options, 1, &image, &bytes, why, sizeof why));
    CHECK_TEXT(why, "text.cu(3): error: identifier \"missing\" is undefined");
    CHECK(image == NULL && bytes == 0);
    const char *unknown[] = {"--no-such-option"};
    CHECK(!rt_nvrtc_compile("", "text.cu", H100, unknown, 1, &image, &bytes, why, sizeof why));
    CHECK(strstr(why, "no-such-option") && !strchr(why, '\n'));
}

int main(void)
{
    const char *why = rt_nvrtc_why_not();
    if (why)
        check_skip(why);
    check_variants();
    check_constraints();
    check_errors();
    return check_done();
}
#else
int main(void)
{
    check_skip("this build has no NVRTC");
}
#endif
