/*
 * machine/nvrtc.c - NVRTC, loaded at run time; its static library is larger than all of Rooftop.
 */
#include "config.h"
#include "machine/nvrtc.h"
#include <dlfcn.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "machine/toolkit.h"

enum { MOST_OPTIONS = 32, MOST_ARCHITECTURES = 64, LINE = 512 };

/* The functions of the library that are used: name and arguments, as in nvrtc.h. */
#define FUNCTIONS(F)                                                                               \
    F(CreateProgram,                                                                               \
      (nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *)) \
    F(CompileProgram, (nvrtcProgram, int, const char *const *))                                    \
    F(DestroyProgram, (nvrtcProgram *))                                                            \
    F(GetProgramLogSize, (nvrtcProgram, size_t *))                                                 \
    F(GetProgramLog, (nvrtcProgram, char *))                                                       \
    F(GetCUBINSize, (nvrtcProgram, size_t *))                                                      \
    F(GetCUBIN, (nvrtcProgram, char *))                                                            \
    F(GetPTXSize, (nvrtcProgram, size_t *))                                                        \
    F(GetPTX, (nvrtcProgram, char *))                                                              \
    F(GetNumSupportedArchs, (int *))                                                               \
    F(GetSupportedArchs, (int *))

static struct {
    bool tried;
    char why_not[LINE]; /* "" if it can be used */
#define POINTER(name, arguments) nvrtcResult(*name) arguments;
    FUNCTIONS(POINTER)
#undef POINTER
} nvrtc;

static void load(void)
{
    void *library = rt_toolkit_load("nvrtc", "NVRTC", nvrtc.why_not, sizeof nvrtc.why_not);
    if (!library)
        return;
    nvrtc.why_not[0] = 0;
    /* POSIX allows this cast: addresses of data and of functions are of one kind. */
#define FIND(function, arguments)                                  \
    *(void **)&nvrtc.function = dlsym(library, "nvrtc" #function); \
    if (!nvrtc.function)                                           \
        snprintf(nvrtc.why_not, sizeof nvrtc.why_not, "NVRTC has no nvrtc" #function);
    FUNCTIONS(FIND)
#undef FIND
}

/* Writes the line of the first error of a log, or the first line if none says "error". */
static void first_error(const char *log, char *why, size_t len)
{
    const char *at = strstr(log, "error");
    while (at && at > log && at[-1] != '\n')
        at--;
    if (!at)
        at = log + strspn(log, "\n ");
    snprintf(why, len, "%.*s", (int)strcspn(at, "\n"), at);
}

/* Writes the architecture to ask for into `option`; returns true if that gives machine code. */
static bool architecture(int capability, char option[64])
{
    int known[MOST_ARCHITECTURES], n = 0, newest = 0;
    if (nvrtc.GetNumSupportedArchs(&n) != NVRTC_SUCCESS || n > MOST_ARCHITECTURES ||
        nvrtc.GetSupportedArchs(known) != NVRTC_SUCCESS)
        n = 0;
    for (int i = 0; i < n; i++)
        if (known[i] <= capability && known[i] > newest)
            newest = known[i];
    const bool exact = newest == capability || newest == 0; /* 0: NVRTC will say what is wrong */
    snprintf(option, 64, "--gpu-architecture=%s_%d", exact ? "sm" : "compute",
             newest == 0 ? capability : newest);
    return exact;
}

static bool compile(nvrtcProgram program, int capability, const char *const *options, int n_options,
                    void **image, size_t *bytes, char *why, size_t len)
{
    const char *all[MOST_OPTIONS + 1];
    char target[64];
    const bool exact = architecture(capability, target);
    RT_EXPECT(n_options <= MOST_OPTIONS, RT_INVALID, "%d options", n_options);
    for (int i = 0; i < n_options; i++)
        all[i] = options[i];
    all[n_options] = target;
    nvrtcResult result = nvrtc.CompileProgram(program, n_options + 1, all);
    if (result != NVRTC_SUCCESS) {
        size_t size = 0;
        nvrtc.GetProgramLogSize(program, &size);
        char *log = calloc(size + 1, 1);
        RT_EXPECT(log, RT_MEMORY, "no memory for the log of NVRTC");
        nvrtc.GetProgramLog(program, log);
        first_error(log, why, len);
        if (!why[0])
            snprintf(why, len, "NVRTC ended with error %d", result);
        free(log);
        return false;
    }
    result = exact ? nvrtc.GetCUBINSize(program, bytes) : nvrtc.GetPTXSize(program, bytes);
    RT_EXPECT(result == NVRTC_SUCCESS, RT_ENVIRONMENT, "NVRTC gives no code: error %d", result);
    *image = malloc(*bytes);
    RT_EXPECT(*image, RT_MEMORY, "no memory for a kernel of %zu bytes", *bytes);
    result = exact ? nvrtc.GetCUBIN(program, *image) : nvrtc.GetPTX(program, *image);
    RT_EXPECT(result == NVRTC_SUCCESS, RT_ENVIRONMENT, "NVRTC gives no code: error %d", result);
    return true;
}

bool rt_nvrtc_compile(const char *text, const char *name, int capability,
                      const char *const *options, int n_options, void **image, size_t *bytes,
                      char *why, size_t len)
{
    const char *why_not = rt_nvrtc_why_not();
    nvrtcProgram program;
    *image = NULL;
    *bytes = 0;
    if (why_not || nvrtc.CreateProgram(&program, text, name, 0, NULL, NULL) != NVRTC_SUCCESS) {
        snprintf(why, len, "%s", why_not ? why_not : "NVRTC takes no program");
        return false;
    }
    const bool done = compile(program, capability, options, n_options, image, bytes, why, len);
    nvrtc.DestroyProgram(&program);
    return done;
}

const char *rt_nvrtc_why_not(void)
{
    if (!nvrtc.tried) {
        nvrtc.tried = true;
        load();
        /* The library alone is not enough: it loads another one, of built-in functions. */
        if (!nvrtc.why_not[0]) {
            void *image;
            size_t bytes;
            char why[LINE];
            if (!rt_nvrtc_compile("__global__ void nothing() {}", "nothing.cu", 90, NULL, 0, &image,
                                  &bytes, why, sizeof why))
                snprintf(nvrtc.why_not, sizeof nvrtc.why_not, "NVRTC does not compile: %.400s",
                         why);
            free(image);
        }
    }
    return nvrtc.why_not[0] ? nvrtc.why_not : NULL;
}
