/*
 * test_report.c - tests JSON values, files that are written completely or not at all, and tables.
 *
 * Tests often run as root, and permission bits do not stop root. So the paths that cannot be
 * written here are a missing folder, a folder, a path below a file, /proc, a FIFO, a full disk (a
 * limit on the size of files, since writing to /dev/full would replace /dev/full), and files that a
 * child without root's rights may not write.
 */
#include "config.h"
#include <float.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "check.h"
#include "files.h"
#include "base/error.h"
#include "base/table.h"
#include "io/json.h"
#include "machine/shared.h"

static char folder[] = "/tmp/rt_report_XXXXXX";

/* Returns the path of `name` in this test's folder; valid for the next seven calls. */
static const char *in_folder(const char *name)
{
    static char path[8][256];
    static int next;
    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static const char *get_file(const char *path)
{
    static char text[4096];
    FILE *f = fopen(path, "r");
    if (!f)
        return NULL;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text;
}

static unsigned mode_of(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 ? (unsigned)s.st_mode & 0777 : 0;
}

/* A pipe that catches what a call prints on stderr. A file would not do: it is full when the disk
 * is. */
static int caught, real_stderr;

static void catch_stderr(void)
{
    int ends[2];
    fflush(stderr);
    real_stderr = dup(STDERR_FILENO);
    if (real_stderr < 0 || pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0)
        check_skip("stderr cannot be caught");
    close(ends[1]);
    caught = ends[0];
}

static const char *caught_stderr(void)
{
    static char text[2048];
    dup2(real_stderr, STDERR_FILENO); /* closes the pipe's end, so that reading ends */
    close(real_stderr);
    ssize_t n = read(caught, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    close(caught);
    return text;
}

static bool is_one_line(const char *text)
{
    const char *newline = strchr(text, '\n');
    return newline && newline != text && newline[1] == '\0';
}

static void test_json(void)
{
    json_t *root = json_object(), *list, *inner;
    rt_json_real(root, "third", 1.0 / 3.0);
    rt_json_real(root, "least", 4.9406564584124654e-324);
    rt_json_int(root, "count", 9007199254740993);
    rt_json_text(root, "name", "Z\xc3\xbcrich \"x\"\n");
    rt_json_text(root, "none", NULL);
    rt_json_text(root, "latin", "Z\xfcrich");
    rt_json_bool(root, "valid", true);
    rt_json_bool(root, "quiet", false);
    inner = rt_json_object(root, "inner");
    rt_json_int(inner, "a", 1);
    list = rt_json_array(root, "list");
    rt_json_append_real(list, 0.5);
    rt_json_int(rt_json_append_object(list), "b", 2);
    CHECK(rt_report_write(in_folder("all.json"), root) == 0);
    json_decref(root);

    root = json_load_file(in_folder("all.json"), 0, NULL);
    CHECK(root != NULL);
    CHECK(json_real_value(json_object_get(root, "third")) == 1.0 / 3.0); /* every bit */
    CHECK(json_real_value(json_object_get(root, "least")) == 4.9406564584124654e-324);
    CHECK(json_integer_value(json_object_get(root, "count")) == 9007199254740993);
    CHECK_TEXT(json_string_value(json_object_get(root, "name")), "Z\xc3\xbcrich \"x\"\n");
    CHECK(json_is_null(json_object_get(root, "none")));
    CHECK_TEXT(json_string_value(json_object_get(root, "latin")), "Z?rich");
    CHECK(json_is_true(json_object_get(root, "valid")));
    CHECK(json_is_false(json_object_get(root, "quiet")));
    CHECK(json_integer_value(json_object_get(json_object_get(root, "inner"), "a")) == 1);
    list = json_object_get(root, "list");
    CHECK(json_array_size(list) == 2 && json_real_value(json_array_get(list, 0)) == 0.5);
    CHECK(json_integer_value(json_object_get(json_array_get(list, 1), "b")) == 2);
    json_decref(root);
    CHECK(unlink(in_folder("all.json")) == 0);
}

static void test_json_not_finite(void)
{
    json_t *root = json_object();
    json_t *list = rt_json_array(root, "list");
    volatile double zero = 0.0;
    CHECK_DIES(RT_INVALID, "the report's 'fom' is", { rt_json_real(root, "fom", 1.0 / zero); });
    CHECK_DIES(RT_INVALID, "the report's 'fom' is", { rt_json_real(root, "fom", zero / zero); });
    CHECK_DIES(RT_INVALID, "entry 0 of a list", { rt_json_append_real(list, -1.0 / zero); });
    rt_json_real(root, "most", DBL_MAX);
    rt_json_append_real(list, -DBL_MAX);
    CHECK(json_array_size(list) == 1);
    json_decref(root);
}

static void test_probe(void)
{
    const char *path = in_folder("old.json");
    put_file(path, "old");
    CHECK(chmod(path, 0640) == 0);
    rt_shared_probe("json", path);
    CHECK_TEXT(get_file(path), "old");
    CHECK(mode_of(path) == 0640);
    rt_shared_probe("json", in_folder("new.json"));
    CHECK(get_file(in_folder("new.json")) == NULL);
    CHECK(test_files_in(folder) == 1);
    CHECK(unlink(path) == 0);
}

/* Gives up root's rights: root may write everything, so the child becomes a user who may not. */
static void become_nobody(void)
{
    if (geteuid() == 0 && setuid(65534) != 0)
        rt_refuse(RT_USAGE, "untested, since root cannot be given up here: Permission denied");
}

static void test_no_permission(void)
{
    const char *path = in_folder("kept.json"), *beside = in_folder("new.json");
    put_file(path, "kept");
    CHECK(chmod(path, 0444) == 0 && chmod(folder, 0777) == 0);
    /* The folder's permissions would allow replacing the file, but the file is read-only. */
    CHECK_DIES(RT_USAGE, "Permission denied", {
        become_nobody();
        rt_shared_probe("json", path);
    });
    CHECK(chmod(folder, 0555) == 0);
    CHECK_DIES(RT_USAGE, "Permission denied", {
        become_nobody();
        rt_shared_probe("json", beside);
    });
    CHECK(chmod(folder, 0700) == 0);
    CHECK(test_files_in(folder) == 1 && unlink(path) == 0);
}

static void test_write(void)
{
    json_t *root = json_pack("{s:i}", "a", 1);
    const char *path = in_folder("a.json"), *text = "{\n  \"a\": 1\n}\n";
    mode_t mask = umask(0027);
    CHECK(rt_report_write(path, root) == 0);
    CHECK_TEXT(get_file(path), text);
    CHECK(mode_of(path) == 0640); /* 0644 less the mask */
    CHECK(umask(0000) == 0027);   /* left as it was */
    CHECK(chmod(path, 0604) == 0);
    put_file(path, "something longer than what comes now, of which nothing may be left over");
    CHECK(rt_report_write(path, root) == 0);
    CHECK_TEXT(get_file(path), text);
    CHECK(mode_of(path) == 0604); /* an old file's mode stays */
    umask(mask);

    /* Who reads the file while it is replaced sees the old one or the new one, never a part. */
    char old[8] = "";
    put_file(path, "old");
    FILE *reader = fopen(path, "r");
    CHECK(reader && rt_report_write(path, root) == 0);
    CHECK(fread(old, 1, sizeof old, reader) == 3 && fclose(reader) == 0);
    CHECK_TEXT(old, "old");

    /* A link stays a link, and the file behind it is replaced. */
    CHECK(symlink("a.json", in_folder("link.json")) == 0);
    put_file(path, "old");
    CHECK(rt_report_write(in_folder("link.json"), root) == 0);
    CHECK_TEXT(get_file(path), text);
    struct stat s;
    CHECK(lstat(in_folder("link.json"), &s) == 0 && S_ISLNK(s.st_mode));
    CHECK(test_files_in(folder) == 2);
    CHECK(unlink(in_folder("link.json")) == 0 && unlink(path) == 0);

    /* A path without a folder is in the current one. */
    char here[4096];
    CHECK(getcwd(here, sizeof here) != NULL && chdir(folder) == 0);
    rt_shared_probe("json", "b.json");
    CHECK(rt_report_write("b.json", root) == 0);
    CHECK(chdir(here) == 0);
    CHECK_TEXT(get_file(in_folder("b.json")), text);
    CHECK(test_files_in(folder) == 1 && unlink(in_folder("b.json")) == 0);
    json_decref(root);
}

static void fails_to_write(const char *path, json_t *root, const char *why)
{
    int before = test_files_in(folder);
    catch_stderr();
    int result = rt_report_write(path, root);
    const char *line = caught_stderr();
    CHECK(result == -1);
    CHECK(is_one_line(line) && strstr(line, why) != NULL);
    if (!strstr(line, why))
        fprintf(stderr, "    got: %s", line);
    CHECK(test_files_in(folder) == before);
}

/* Paths that cannot be written are found out before a run, and after it. A device must not be replaced
 * either: as root, renaming over /dev/null would break the machine. */
static void test_unwritable(void)
{
    json_t *root = json_object();
    char endless[5000];
    struct stat s;
    memset(endless, 'n', sizeof endless);
    endless[4999] = '\0';
    put_file(in_folder("old.json"), "old");
    CHECK(mkfifo(in_folder("fifo"), 0600) == 0);
    const char *const unwritable[][2] = {
        {in_folder("no/x.json"), "no/x.json': its folder is not there"},
        {folder, "it is a folder"},
        {in_folder("new/"), "it is a folder"},
        {in_folder("old.json/x.json"), "a part of the path is a file"},
        {in_folder("fifo"), "it is not an ordinary file"},
        {"/proc/x.json", "/proc/x.json'"},
        {"", "cannot write '': "},
        {endless, "too long"},
    };
    for (size_t i = 0; i < sizeof unwritable / sizeof *unwritable; i++) {
        CHECK_DIES(RT_USAGE, unwritable[i][1], { rt_shared_probe("json", unwritable[i][0]); });
        fails_to_write(unwritable[i][0], root, unwritable[i][1]);
    }
    CHECK(lstat(in_folder("fifo"), &s) == 0 && S_ISFIFO(s.st_mode));
    CHECK(unlink(in_folder("fifo")) == 0 && unlink(in_folder("old.json")) == 0);
    json_decref(root);
}

static void test_disk_full(void)
{
    json_t *root = json_object();
    const char *path = in_folder("a.json");
    for (int i = 0; i < 1000; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%d", i);
        rt_json_int(root, key, i);
    }
    put_file(path, "old");

    /* The disk is full at the first byte, in the middle (a partial write), and just before the end,
     * which is the newline. */
    struct stat whole;
    CHECK(rt_report_write(path, root) == 0 && stat(path, &whole) == 0);
    const size_t room[] = {0, 4096, (size_t)whole.st_size - 1};
    put_file(path, "old");
    struct rlimit old_limit, limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
    limit = old_limit;
    void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 3; i++) {
        limit.rlim_cur = room[i];
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        fails_to_write(path, root, "File too large");
        CHECK(setrlimit(RLIMIT_FSIZE, &old_limit) == 0);
        CHECK_TEXT(get_file(path), "old");
    }
    signal(SIGXFSZ, old_handler);
    CHECK(rt_report_write(path, root) == 0); /* with room it works */
    CHECK(unlink(path) == 0);
    json_decref(root);
}

static const char *printed(rt_table_t *t)
{
    FILE *out = tmpfile();
    rt_table_print(t, out);
    return check_written(out);
}

static void test_table(void)
{
    rt_table_t *t = rt_table_new("<rung|time \xc2\xb5s|GB/s|<why");
    CHECK_TEXT(printed(t), "rung  time \xc2\xb5s  GB/s  why\n"
                           "------------------------\n");
    rt_table_cell(t, "%s", "plain");
    rt_table_cell(t, "%.2f", 12345.678);
    rt_table_cell(t, "%d", 7);
    rt_table_row(t);
    rt_table_cell(t, "layered-more");
    rt_table_cell(t, "%d", 1);
    rt_table_cell(t, "-");
    rt_table_cell(t, "no GPU");
    rt_table_row(t);
    rt_table_row(t);
    rt_table_cell(t, "%s", "");
    rt_table_cell(t, "%s", "");
    rt_table_cell(t, "%d", 100000);
    CHECK_TEXT(printed(t), "plain         12345.68       7\n"
                           "layered-more         1       -  no GPU\n"
                           "\n"
                           "                        100000\n");
    rt_table_destroy(t);

    t = rt_table_new("a|b");
    rt_table_cell(t, "%d", 1);
    rt_table_cell(t, "%d", 2);
    CHECK_DIES(RT_INVALID, "a row of more than 2 cells", { rt_table_cell(t, "%d", 3); });
    rt_table_row(t);
    rt_table_cell(t, "%d", 3); /* after the end of a row there is room again */
    rt_table_destroy(t);
    rt_table_destroy(NULL);
}

int main(void)
{
    if (!mkdtemp(folder))
        check_skip("no folder can be made in /tmp");
    test_json();
    test_json_not_finite();
    test_probe();
    test_no_permission();
    test_write();
    test_unwritable();
    test_disk_full();
    test_table();
    CHECK(test_files_in(folder) == 0);
    CHECK(rmdir(folder) == 0);
    return check_done();
}
