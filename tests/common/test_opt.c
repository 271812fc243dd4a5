/*
 * test_opt.c - tests the option table: command line, case file and --help.
 */
#include "config.h"
#include <float.h>
#include <math.h>
#include <poll.h>
#include <sys/stat.h>
#include "check.h"
#include "base/error.h"
#include "base/file.h"
#include "base/opt.h"

typedef struct {
    bool quiet, overlap, list;
    const char *case_file, *json;
    int64_t seed;
} driver_t;

typedef struct {
    int64_t degree, any;
    double tolerance;
    int transport;
    int64_t elements[3];
    int64_t after; /* must never be written */
} app_t;

static const char *const transports[] = {"auto", "staged", "none", NULL};

static const rt_opt_t driver_options[] = {
    RT_TEXT(driver_t, case_file, "case", "FILE", NULL, "read options"),
    RT_TEXT(driver_t, json, "json", "FILE", NULL, "write"),
    RT_INT(driver_t, seed, "seed", "N", "1", 0, 9.3e18, "random"),
    RT_FLAG(driver_t, quiet, "quiet", NULL, "say less"),
    RT_FLAG(driver_t, overlap, "overlap", "yes", "overlap"),
    RT_ACTION(driver_t, list, "list", "list the rungs"),
};
static const rt_opt_t app_options[] = {
    RT_INT(app_t, degree, "degree", "N", "9", 1, 15, "polynomial degree"),
    RT_INT(app_t, any, "any", "N", NULL, -1e300, 1e300, "any"),
    RT_REAL(app_t, tolerance, "tolerance", "X", "1e-8", 0, 1, "stop"),
    RT_CHOICE(app_t, transport, "transport", "NAME", "staged", transports, "halo"),
    RT_EXTENTS(app_t, elements, "elements", "NXxNYxNZ", "4x5x6", 1, 1000, "mesh"),
};

static driver_t driver;
static app_t app;
static uint64_t bits[2];
static const rt_opt_set_t sets[] = {
    {"Options of all apps", driver_options, sizeof driver_options / sizeof *driver_options, &driver,
     &bits[0]},
    {"Options of nekbone", app_options, sizeof app_options / sizeof *app_options, &app, &bits[1]},
};

static char folder[] = "/tmp/rt_opt_XXXXXX";

/* Parses a command line: parse("--degree", "3"). */
#define parse(...) parse_list((char *[]){"nekbone", __VA_ARGS__, NULL})
static void parse_list(char **argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    rt_opt_parse(sets, 2, argc, argv, rt_file_load);
}

/* Writes these bytes to a file and returns its path; valid until the next call. */
static char *file_of_bytes(const char *name, const char *bytes, size_t n)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    return path;
}

static char *file_of(const char *text)
{
    return file_of_bytes("a.case", text, strlen(text));
}

static bool given(const char *name)
{
    return rt_opt_given(sets, 2, name);
}

#define REFUSES(text, ...) CHECK_DIES(RT_USAGE, text, { parse(__VA_ARGS__); })
#define CASE_REFUSES(text, content) \
    CHECK_DIES(RT_USAGE, text, { parse("--case", file_of(content)); })

/* Takes the place of the library's: a FIFO is waited for as long as it should be, but not here. */
int poll(struct pollfd *files, nfds_t n, int timeout)
{
    (void)files;
    return n == 1 && timeout == 1000 * RT_FILE_PATIENCE ? 0 : 1;
}

static void test_defaults(void)
{
    memset(&driver, 0x55, sizeof driver);
    memset(&app, 0x55, sizeof app);
    int64_t untouched = app.after;
    rt_opt_parse(sets, 2, 1, (char *[]){"nekbone", NULL}, rt_file_load);
    CHECK(!driver.quiet && driver.overlap && !driver.list);
    CHECK(driver.case_file == NULL && driver.json == NULL);
    CHECK(driver.seed == 1 && app.degree == 9 && app.any == 0);
    CHECK(app.tolerance == 1e-8 && app.transport == 1);
    CHECK(app.elements[0] == 4 && app.elements[1] == 5 && app.elements[2] == 6);
    CHECK(app.after == untouched);
    CHECK(!given("degree") && !given("overlap"));
}

static void test_command_line(void)
{
    parse("--degree", "3", "--tolerance=0.5", "--transport", "none", "--quiet", "--no-overlap",
          "--list", "--json", "out.json", "--elements", "7x8x9");
    CHECK(app.degree == 3 && app.tolerance == 0.5 && app.transport == 2);
    CHECK(driver.quiet && !driver.overlap && driver.list);
    CHECK_TEXT(driver.json, "out.json");
    CHECK(app.elements[0] == 7 && app.elements[1] == 8 && app.elements[2] == 9);
    CHECK(given("degree") && given("overlap") && given("list") && !given("seed"));

    /* A second parse starts from the defaults and keeps nothing of the first. */
    parse("--degree=4", "--degree", "5", "--overlap=no", "--elements=16", "--no-quiet");
    CHECK(app.degree == 5 && app.tolerance == 1e-8 && driver.json == NULL);
    CHECK(!driver.quiet && !driver.overlap && !driver.list);
    CHECK(app.elements[0] == 16 && app.elements[1] == 16 && app.elements[2] == 16);
    CHECK(given("degree") && given("quiet") && !given("json") && !given("list"));
    parse("--no-overlap", "--overlap");
    CHECK(driver.overlap);
    parse("--deg", "6"); /* an unambiguous abbreviation */
    CHECK(app.degree == 6);
    parse("--json=--quiet"); /* odd, but clear */
    CHECK_TEXT(driver.json, "--quiet");
    parse("--any", "-5", "--");
    CHECK(app.any == -5);
}

static void test_wrong_words(void)
{
    rt_error_set_program("nekbone");
    REFUSES("nekbone: --degre0: no such option; the nearest is --degree,", "--degre0", "3");
    REFUSES("--no-overlop: no such option; the nearest is --no-overlap,", "--no-overlop");
    REFUSES("--sead: no such option; the nearest is --seed,", "--sead=3");
    REFUSES("the nearest is --list,", "--lost");
    REFUSES("--t: may mean any of --tolerance --transport;", "--t", "1");
    REFUSES("--degree: its value is missing; write --degree N", "--degree");
    REFUSES("--json: its value is missing: --quiet is an option", "--json", "--quiet");
    REFUSES("--list takes no value", "--list=3");
    REFUSES("--no-quiet takes no value", "--no-quiet=yes");
    REFUSES("'more' is not an option", "more");
    REFUSES("'3' is not an option", "--degree", "3", "3");
    REFUSES("'x' is not an option", "--quiet", "x", "--degree", "3");
    REFUSES("'x' is not an option", "x", "--degre0", "3"); /* the first error, in reading order */
    REFUSES("'x' is not an option", "--", "x");
    REFUSES("-degree: options have two dashes", "-degree", "3");
    REFUSES("-h: options have two dashes", "--quiet", "-h");
    REFUSES("no such option", "--=3");
    REFUSES("--quiet maybe: give yes or no", "--quiet=maybe");
    REFUSES("'' is not an option", "");
    REFUSES("--json : must not be empty", "--json=");
    REFUSES("--a?b: no such option", "--a\nb");
}

/* Each option with values that are right, and what they are then. */
static void test_values(void)
{
    parse("--any", "9223372036854775807", "--tolerance", ".25", "--elements", "1x1000x1");
    CHECK(app.any == INT64_MAX && app.tolerance == 0.25);
    CHECK(app.elements[0] == 1 && app.elements[1] == 1000 && app.elements[2] == 1);
    parse("--any=-9223372036854775808", "--tolerance", "1e-300", "--degree", "15");
    CHECK(app.any == INT64_MIN && app.tolerance == 1e-300 && app.degree == 15);
    parse("--any", "010", "--seed", "+7", "--degree", "007", "--tolerance", "1"); /* not octal */
    CHECK(app.any == 10 && driver.seed == 7 && app.degree == 7 && app.tolerance == 1.0);
    parse("--transport", "auto", "--degree", "1");
    CHECK(app.transport == 0 && app.degree == 1);
}

static void test_wrong_values(void)
{
    char digits[4001];
    memset(digits, '1', 4000);
    digits[4000] = '\0';
    const struct {
        const char *option, *says, *values[9];
    } wrong[] = {
        {"--degree", "out of range; give 1 to 15", {"0", "16", "18446744073709551625"}},
        {"--degree",
         "not a whole number; give 1 to 15",
         {"1e6", "12x", "3 ", " 3", "3.0", "0x3", "-", ""}},
        {"--any", "out of range", {"9223372036854775808", "-9223372036854775809"}},
        {"--seed", "--seed -1: out of range; give at least 0", {"-1"}},
        {"--tolerance", "out of range; give 0 to 1", {"1.0001", "-1e-9", "1e999"}},
        {"--tolerance", "out of range", {"1e-999"}}, /* would be read as 0 */
        {"--tolerance",
         "not a finite number",
         {"nan", "-nan", "inf", "+Infinity", "0.5s", "0,5", ".", ""}},
        {"--elements",
         "out of range; give 1 to 1000",
         {"1x1001x1", "0x1x1", "1x1x-1", "1001", "1x1x99999999999999999999"}},
        {"--elements", "three extents", {"4x4", "4x4x4x4", "4x4x4x", digits}},
        {"--elements", "whole number", {"4x4x", "4xx4", "x4x4", "4x4x4 ", "4*4*4", ""}},
        {"--transport", "give auto, staged or none", {"nccl", "stage", ""}}, /* no abbreviation */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (const char *const *value = wrong[i].values; *value; value++)
            REFUSES(wrong[i].says, (char *)wrong[i].option, (char *)*value);
}

/* Tests bounds that need an exact comparison, and bounds that are infinite. */
static void test_bounds(void)
{
    typedef struct {
        int64_t n;
        double x;
    } odd_t;
    odd_t odd = {0, 0.0};
    const rt_opt_t options[] = {
        RT_INT(odd_t, n, "n", "N", NULL, 0, 9007199254740992.0, ""),
        RT_REAL(odd_t, x, "x", "X", NULL, -INFINITY, INFINITY, ""),
    };
    const rt_opt_set_t set = {"odd", options, 2, &odd, bits};
    rt_opt_assign(&set, 1, "n", "9007199254740992", "here");
    CHECK(odd.n == 9007199254740992);
    CHECK_DIES(RT_USAGE, "out of range",
               { rt_opt_assign(&set, 1, "n", "9007199254740993", "here"); });
    rt_opt_assign(&set, 1, "x", "-1.7e308", "here");
    CHECK(odd.x == -1.7e308);
    CHECK_DIES(RT_USAGE, "out of range\n", { rt_opt_assign(&set, 1, "x", "1e999", "here"); });
    CHECK_DIES(RT_USAGE, "not a finite number\n", { rt_opt_assign(&set, 1, "x", "inf", "here"); });
}

static void test_case_file(void)
{
    char *path = file_of("# a case\n"
                         "\n"
                         "degree = 3\n"
                         "  tolerance=0.25   # as in the paper\r\n"
                         "\t# more\n"
                         "overlap = no\n"
                         "quiet = yes\n"
                         "json = out#1 of 2.json\n"
                         "elements = 2x3x4\n"
                         "degree = 4\n"
                         "transport = none");
    parse("--seed", "5", "--case", path);
    CHECK(app.degree == 4 && app.tolerance == 0.25 && app.transport == 2);
    CHECK(!driver.overlap && driver.quiet && driver.seed == 5);
    CHECK_TEXT(driver.json, "out#1 of 2.json");
    CHECK(app.elements[2] == 4);
    CHECK_TEXT(driver.case_file, path);
    CHECK(given("degree") && given("transport") && given("seed") && !given("any"));

    /* The command line wins, both before and after --case. */
    parse("--degree", "7", "--case", path, "--overlap");
    CHECK(app.degree == 7 && driver.overlap && app.tolerance == 0.25);
    /* Its strings do not point into the file's buffer. */
    file_of("degree = 2\n");
    parse("--case=/nowhere", "--case", path, "--json", "x");
    CHECK(app.degree == 2);
    const char *first = driver.json;
    parse("--case", file_of("json = another\n"));
    CHECK_TEXT(first, "x");
    CHECK_TEXT(driver.json, "another");
}

static void test_wrong_case_lines(void)
{
    CASE_REFUSES("/a.case:2: no such key: degre; the nearest is degree,",
                 "quiet = no\ndegre = 3\n");
    CASE_REFUSES("/a.case:3: degree = 99: out of range; give 1 to 15", "\n# x\ndegree = 99\n");
    CASE_REFUSES("/a.case:1: degree = : not a whole number", "degree =\n");
    CASE_REFUSES("/a.case:1: degree = 3 4: not a whole number", "degree = 3 4\n");
    CASE_REFUSES("/a.case:1: degree = = 3: not a whole number", "degree == 3\n");
    CASE_REFUSES("/a.case:1: json = : must not be empty", "json = # none\n");
    CASE_REFUSES("/a.case:1: quiet = 1: give yes or no", "quiet = 1\n");
    CASE_REFUSES("/a.case:2: 'degree 3' is not of the form key = value", "quiet=no\ndegree 3\n");
    CASE_REFUSES("/a.case:1: '= 3' is not of the form key = value", "= 3\n");
    CASE_REFUSES("/a.case:1: list belongs on the command line", "list = yes\n");
    CASE_REFUSES("/a.case:1: case belongs on the command line", "case = b.case\n");
    CASE_REFUSES("/a.case:1: no such key: deg;", "deg = 3\n"); /* no abbreviation in a file */
    CASE_REFUSES("/a.case:1: no such key: lisd; the nearest is seed,", "lisd = 3\n");
    CASE_REFUSES("/a.case:1: no such key: --degree;", "--degree = 3\n");
}

static void test_wrong_case_files(void)
{
    REFUSES("/nowhere/x.case: No such file or directory; name a file", "--case", "/nowhere/x.case");
    REFUSES("Is a directory; name a file", "--case", folder);
    REFUSES("sets nothing; give it lines", "--case", file_of(""));
    REFUSES("sets nothing; give it lines", "--case", file_of("# all\n\n  # comments"));
    REFUSES("a binary file; name a text", "--case", file_of_bytes("b", "degree = 3\n\0\n", 13));
    REFUSES("/dev/zero: not a regular file", "--case", "/dev/zero");
    char fifo[256]; /* into which nobody writes */
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    CHECK(mkfifo(fifo, 0600) == 0);
    REFUSES("/fifo: nothing has come out of it for", "--case", fifo);
    CHECK(unlink(fifo) == 0);
    static char large[100000];
    memset(large, '\n', sizeof large);
    memcpy(large, "degree = 3", 10);
    REFUSES("larger than 64 KiB", "--case", file_of_bytes("l", large, sizeof large));
    REFUSES("larger than 64 KiB", "--case", file_of_bytes("l", large, 65537));
    parse("--case", file_of_bytes("l", large, 65536));
    CHECK(app.degree == 3);
    memset(large, 'k', sizeof large); /* one long line is quoted in part */
    REFUSES("kkk' is not of the form", "--case", file_of_bytes("l", large, 60000));
    large[3000] = '\0'; /* a long path does not hide the cause */
    REFUSES("name a file that can be read", "--case", large);
    REFUSES("--case: its value is missing", "--case");
    REFUSES("--case : No such file", "--case=");
}

static void test_assign(void)
{
    parse("--degree", "3");
    rt_opt_assign(sets, 2, "seed", "12", "settings");
    CHECK(driver.seed == 12 && app.degree == 3 && given("seed"));
    char value[] = "buffer";
    rt_opt_assign(sets, 2, "json", value, "settings");
    memset(value, 'x', 6);
    CHECK_TEXT(driver.json, "buffer");
    CHECK_DIES(RT_USAGE, "settings: degree = 0: out of range",
               { rt_opt_assign(sets, 2, "degree", "0", "settings"); });
    CHECK_DIES(RT_USAGE, "settings: no such key: size; the nearest is seed",
               { rt_opt_assign(sets, 2, "size", "0", "settings"); });
    CHECK_DIES(RT_INVALID, "no option 'size'", { rt_opt_given(sets, 2, "size"); });
}

/* Tests that rt_opt_value prints what is read back as the same value. */
static void test_value(void)
{
    static const char *const lines[][2] = {
        {"degree", "12"},      {"any", "-9223372036854775808"},
        {"tolerance", "0.1"},  {"transport", "none"},
        {"elements", "3x2x1"}, {"tolerance", "0.30000000000000004"},
        {"quiet", "yes"},      {"overlap", "no"},
        {"json", "some file"}, {"tolerance", "5e-05"},
    };
    parse("--quiet");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[64] = "";
        rt_opt_assign(sets, 2, lines[i][0], lines[i][1], "here");
        for (int s = 0; s < 2; s++)
            for (int o = 0; o < sets[s].n; o++)
                if (strcmp(sets[s].options[o].name, lines[i][0]) == 0)
                    rt_opt_value(&sets[s].options[o], sets[s].target, text, sizeof text);
        CHECK_TEXT(text, lines[i][1]);
    }
    char text[8] = "?";
    parse("--quiet");
    rt_opt_value(&driver_options[1], &driver, text, sizeof text);
    CHECK_TEXT(text, "");
    rt_opt_value(&driver_options[0], &driver, NULL, 0); /* like snprintf: size 0 is safe */
}

/* Tests that an error in a table is found at the first run, not only when a user needs the
 * option. */
static void test_tables(void)
{
    app_t a;
    rt_opt_t bad[2] = {app_options[0], app_options[1]};
    const rt_opt_set_t set = {"bad", bad, 2, &a, bits};
    char *argv[] = {"nekbone", NULL};
    rt_opt_parse(&set, 1, 1, argv, rt_file_load); /* correct so far */
    CHECK(a.degree == 9);
    bad[0].fallback = "0";
    CHECK_DIES(RT_INVALID, "default '0' of option 'degree': out of range",
               { rt_opt_parse(&set, 1, 1, argv, rt_file_load); });
    bad[0].fallback = NULL;
    bad[0].min = bad[0].max = 0;
    CHECK_DIES(RT_INVALID, "option 'degree' has no range",
               { rt_opt_parse(&set, 1, 1, argv, rt_file_load); });
    bad[0] = bad[1];
    CHECK_DIES(RT_INVALID, "'any' is in the tables twice",
               { rt_opt_parse(&set, 1, 1, argv, rt_file_load); });
    bad[0] = app_options[3];
    bad[0].choices = NULL;
    CHECK_DIES(RT_INVALID, "'transport' has no choices",
               { rt_opt_parse(&set, 1, 1, argv, rt_file_load); });
    const rt_opt_set_t twice[] = {{"a", app_options, 1, &a, bits},
                                  {"b", app_options, 1, &app, bits}};
    CHECK_DIES(RT_INVALID, "'degree' is in the tables twice",
               { rt_opt_parse(twice, 2, 1, argv, rt_file_load); });
}

static void test_help(void)
{
    rt_opt_t options[sizeof app_options / sizeof *app_options];
    memcpy(options, app_options, sizeof options);
    options[0].help =
        "a long text that has to be wrapped because it does not fit into the one line "
        "that is left for it, and then\nsome";
    options[1].name = "an-option-with-a-very-long-name";
    const rt_opt_set_t help[] = {sets[0], {"Options of nekbone", options, 5, &app, bits}};
    FILE *out = tmpfile();
    const rt_opt_page_t page = {.program = "nekbone",
                                .purpose = "Solves\nPoisson's equation.",
                                .examples = (const char *const[]){"nekbone --degree 9", NULL},
                                .absent = (const char *const[]){"tolerance", "list", NULL}};
    rt_opt_help(out, &page, help, 2);
    const char *text = check_written(out);
    CHECK_TEXT(text,
               "Usage: nekbone [--option value | --option=value] ...\n"
               "Solves Poisson's equation.\n"
               "\n"
               "Options of all apps:\n"
               "  --case FILE             read options\n"
               "  --json FILE             write\n"
               "  --seed N                random [at least 0; default 1]\n"
               "  --[no-]quiet            say less\n"
               "  --[no-]overlap          overlap [default yes]\n"
               "\n"
               "Options of nekbone:\n"
               "  --degree N              a long text that has to be wrapped because it does not\n"
               "                          fit into the one line that is left for it, and then\n"
               "                          some [1 to 15; default 9]\n"
               "  --an-option-with-a-very-long-name N\n"
               "                          any\n"
               "  --transport NAME        halo [auto, staged or none; default staged]\n"
               "  --elements NXxNYxNZ     mesh [1 to 1000; default 4x5x6]\n"
               "\n"
               "Examples:\n"
               "  nekbone --degree 9\n");
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        CHECK(strcspn(line, "\n") <= 80);
}

int main(void)
{
    if (!mkdtemp(folder))
        check_skip("no folder can be made in /tmp");
    test_defaults();
    test_command_line();
    test_wrong_words();
    test_values();
    test_wrong_values();
    test_bounds();
    test_case_file();
    test_wrong_case_lines();
    test_wrong_case_files();
    test_assign();
    test_value();
    test_tables();
    test_help();
    static const char *const made[] = {"/a.case", "/b", "/l"};
    for (int i = 0; i < 3; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s%s", folder, made[i]);
        unlink(path);
    }
    CHECK(rmdir(folder) == 0);
    return check_done();
}
