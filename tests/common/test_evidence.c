/*
 * test_evidence.c - the evidence for a result: SHA-256, the digest of inputs, the seed from a
 * nonce, and an energy meter that is made of files.
 */
#include "config.h"
#include <float.h>
#include <math.h>
#include <time.h>
#include <sys/stat.h>
#include "check.h"
#include "judge/digest.h"
#include "machine/energy.h"
#include "base/sha256.h"

/* --- SHA-256 --- */

/* Hashes the text in parts of `part` bytes. */
static const char *hash_of(const char *text, size_t n, size_t part)
{
    static char hex[RT_SHA256_DIGITS + 1];
    rt_sha256_t hash;
    rt_sha256_begin(&hash);
    for (size_t at = 0; at < n; at += part)
        rt_sha256_add(&hash, text + at, part < n - at ? part : n - at);
    rt_sha256_end_hex(&hash, hex);
    return hex;
}

/* The vectors of FIPS 180-4 and NIST. With 56 bytes the length no longer fits into the block. */
static void test_sha256(void)
{
    static const struct {
        const char *text, *hex;
    } vectors[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
         "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const size_t n = strlen(vectors[i].text);
        CHECK_TEXT(hash_of(vectors[i].text, n, n + 1), vectors[i].hex);
        CHECK_TEXT(hash_of(vectors[i].text, n, 1), vectors[i].hex);
    }
    static char million[1000000];
    memset(million, 'a', sizeof million);
    CHECK_TEXT(hash_of(million, sizeof million, 1001),
               "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* By `printf rooftop:TEXT | sha256sum`: the first 16 digits, without the two highest bits. */
static void test_nonce(void)
{
    CHECK(rt_seed_of_nonce("hello") == 0x9b4205c649cd995);
    CHECK(rt_seed_of_nonce("tender 2026-11") == 0x21c3cbff2db7ddf0);
    CHECK(rt_seed_of_nonce("a") > 0 && rt_seed_of_nonce("a") != rt_seed_of_nonce("b"));
}

/* --- the digest --- */

static void add_value(rt_items_t *items, uint64_t at, double value)
{
    const uint64_t item[] = {at, rt_items_word(value)};
    rt_items_add(items, item, 2);
}

static const char *digest_of(const rt_items_t *items, double real)
{
    static char hex[4][RT_SHA256_DIGITS + 1];
    static int next;
    rt_digest_t digest;
    next = (next + 1) % 4;
    rt_digest_begin(&digest);
    rt_digest_text(&digest, "mesh", "box");
    rt_digest_real(&digest, "real", real);
    rt_digest_items(&digest, "values", items);
    rt_digest_end(&digest, hex[next]);
    return hex[next];
}

/* Any order and any division must give the same digest; another value, place or number of items
 * must give another. */
static void test_digest(void)
{
    rt_items_t forward = {0, {0}}, part[2] = {{0, {0}}, {0, {0}}};
    for (uint64_t i = 0; i < 100; i++) {
        add_value(&forward, i, 1.0 / (double)(i + 1));
        add_value(&part[i % 3 == 0], 99 - i, 1.0 / (double)(100 - i));
    }
    rt_items_t merged = part[1];
    rt_items_merge(&merged, &part[0]);
    CHECK(merged.count == 100 && forward.count == 100);
    char whole[RT_SHA256_DIGITS + 1];
    strcpy(whole, digest_of(&forward, 0.0));
    CHECK_TEXT(digest_of(&merged, 0.0), whole);
    CHECK_TEXT(digest_of(&merged, -0.0), whole);
    CHECK(strcmp(digest_of(&part[0], 0.0), whole) != 0);
    CHECK(strcmp(digest_of(&forward, DBL_MIN), whole) != 0);

    rt_items_t other = {0,
                        {0}}; /* two values are swapped; in `bit` one value has another last bit */
    rt_items_t bit = {0, {0}};
    for (uint64_t i = 0; i < 100; i++) {
        const uint64_t from = i == 3 ? 4 : i == 4 ? 3 : i;
        const double value = 1.0 / (double)(i + 1);
        add_value(&other, i, 1.0 / (double)(from + 1));
        add_value(&bit, i, i == 7 ? nextafter(value, 2) : value);
    }
    CHECK(strcmp(digest_of(&other, 0.0), whole) != 0);
    CHECK(strcmp(digest_of(&bit, 0.0), whole) != 0);
    for (int lane = 0; lane < RT_DIGEST_LANES; lane++) /* each of the four sums must differ */
        CHECK(other.sum[lane] != forward.sum[lane] && bit.sum[lane] != forward.sum[lane]);
    CHECK(forward.sum[0] != forward.sum[1]);

    const uint64_t zero[2] = {0, 0}; /* an item of zeros counts too, and so does its length */
    rt_items_t none = {0, {0}}, one = none, two = none;
    rt_items_add(&one, zero, 1);
    rt_items_add(&two, zero, 2);
    for (int lane = 0; lane < RT_DIGEST_LANES; lane++)
        CHECK(one.sum[lane] != 0 && one.sum[lane] != two.sum[lane]);

    /* Two facts must not run together. */
    char hex[2][RT_SHA256_DIGITS + 1];
    for (int i = 0; i < 2; i++) {
        rt_digest_t digest;
        rt_digest_begin(&digest);
        rt_digest_text(&digest, "n", i ? "12" : "1");
        rt_digest_text(&digest, i ? "m" : "2m", "3");
        rt_digest_end(&digest, hex[i]);
    }
    CHECK(strcmp(hex[0], hex[1]) != 0);
}

/* --- RAPL --- */

static char folder[32] = "/tmp/rt_rapl_XXXXXX";

static void put(const char *domain, const char *file, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, domain);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/%s", folder, domain, file);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void put_domain(const char *domain, const char *name, const char *energy)
{
    put(domain, "name", name);
    put(domain, "energy_uj", energy);
    put(domain, "max_energy_range_uj", "1000000000\n");
}

static void test_rapl(void)
{
    rt_rapl_t rapl;
    CHECK(!rt_rapl_open(&rapl, "/nowhere/at/all"));
    CHECK(mkdtemp(folder) != NULL);
    CHECK(!rt_rapl_open(&rapl, folder));
    put_domain("intel-rapl:0", "package-0\n", "5000000\n");
    put_domain("intel-rapl:1", "package-1\n", "999000000\n");
    put_domain("intel-rapl:0:0", "core\n", "1\n"); /* included in the figure of its package */
    put_domain("intel-rapl:0:1", "dram\n", "100\n");
    put_domain("intel-rapl-mmio:0", "package-0\n", "5000000\n"); /* the same package again */
    CHECK(rt_rapl_open(&rapl, folder) && rapl.n == 3);
    CHECK(rt_rapl_sample(&rapl));
    CHECK(rapl.joules == 0);
    put("intel-rapl:0", "energy_uj", "7000000\n");
    put("intel-rapl:1", "energy_uj", "3000000\n"); /* wraps once: 4 J */
    put("intel-rapl:0:0", "energy_uj", "1000001\n");
    put("intel-rapl:0:1", "energy_uj", "500100\n");
    CHECK(rt_rapl_sample(&rapl));
    CHECK(fabs(rapl.joules - 6.5) < 1e-9);
    CHECK(rt_rapl_sample(&rapl));
    CHECK(fabs(rapl.joules - 6.5) < 1e-9); /* nothing is counted twice */
    put("intel-rapl:0:1", "energy_uj", "?\n");
    CHECK(!rt_rapl_sample(&rapl));
    CHECK(!rt_rapl_open(&rapl, folder)); /* without one of them the sum would be too small */
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

static void wait_for(double seconds)
{
    nanosleep(&(struct timespec){(time_t)seconds, (long)(1e9 * fmod(seconds, 1))}, NULL);
}

/* The energy is of the first reading and the last; a reading once per second shows 100 W, then 300. The
 * idle power, 100 W, is not taken off. */
static void test_counters(void)
{
    rt_energy_t energy;
    char command[160];
    strcpy(folder, "/tmp/rt_power_XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    CHECK(!rt_energy_open(RT_CPU, folder));
    put_domain("intel-rapl:0", "package-0\n", "0\n");
    CHECK(rt_energy_open(RT_CPU, folder));
    snprintf(command, sizeof command,
             "(cd %s; echo 200000000 >new; sleep 2; mv new intel-rapl:0/energy_uj) &", folder);
    CHECK(system(command) == 0);
    rt_energy_idle();
    rt_energy_start();
    put("intel-rapl:0", "energy_uj", "300000000\n");
    wait_for(1.5);
    put("intel-rapl:0", "energy_uj", "600000000\n");
    wait_for(0.8);
    rt_energy_stop(&energy);
    CHECK_TEXT(energy.source, "RAPL");
    CHECK(fabs(energy.joules - 400) < 1e-6 && energy.samples == 3);
    CHECK(energy.seconds > 2.2 && fabs(energy.end - energy.begin - energy.seconds) < 0.1);
    CHECK(fabs(energy.lowest - 100) < 30 && fabs(energy.highest - 300) < 90);
    CHECK(fabs(energy.idle - 100) < 20 && energy.begin - energy.idle_end < 0.5);
    put("intel-rapl:0", "energy_uj", "?\n");
    rt_energy_start();
    rt_energy_stop(&energy);
    CHECK(energy.source == NULL);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

/* The windows are of second 1000 to 1010 of 1970. The first sample is 999.5 s, 95 W; after that one per
 * second with 10 W more, so trapezoids are exact: 1500 J. The idle machine had 80 W. */
static void test_meter_file(void)
{
    static const struct {
        const char *old, *new, *why; /* what is changed in the file, and what is said of it */
    } rows[] = {
        {"", "", NULL},
        {"1000.5, ", "1970-01-01T00:16:40.5Z,", NULL},
        {"1000.5, ", "1970-01-01T02:16:40.50+02:00 ", NULL},
        {"1000.5, ", "1969-12-31T23:16:40.5-01:00 ", NULL},
        {"1000.5, 105", "# 1", "with 9 samples, up to 2.0 s apart; one per second is needed"},
        {"1001.5, 115\n1002.5, 125\n1003.5, 135\n", "1001.8, 118\n1003.2, 132\n",
         "with 9 samples, up to 1.4 s apart"},
        {"1000.5, 105", "1000.5, 105\n1000.7, 107\n# 1", NULL},
        {"\n1003.5, 135\n", "\n1002.7, 1\n1004.4, 1\n", "with 11 samples, up to 1.7 s apart"},
        {"995.5, 80\n996.5, 80\n997.5, 80\n998.5, 80\n999.5, 95", "1000.2, 95",
         "covers 9.8 of the 10.0 s"},
        {"1010.5, 205\n", "1010.5, 205", "covers 9.5 of the 10.0 s"}, /* being written */
        {"1002.5, ", "1001.5, ", "line 10: not later than the sample before"},
        {"1002.5, ", "1970-01-01T00:16:42.5, ", "line 10: the time lacks its zone"},
        {"1002.5, ", "1970-01-01 00:16:42.5, ", "line 10: \"1970-01-01\" is not a number (seconds"},
        {"1002.5, 125", "1002.5", "line 10: watts is missing"},
        {"1002.5, 125", "1002.5, 125 W", "line 10: the line should end before \"W\""},
        {"1002.5, 125", "1002.5, nan", "line 10: a time and watts"},
        {"1002.5, 125", "1002.5, -1", "line 10: a time and watts"}};
    const rt_energy_t when = {.begin = 1000, .end = 1010, .idle_begin = 996, .idle_end = 998};
    char text[512] = "# time, watts\n\n995.5, 80\n996.5, 80\n997.5, 80\n998.5, 80\n", path[64];
    for (int i = 0; i < 12; i++)
        snprintf(text + strlen(text), 24, "%d.5, %d\n", 999 + i, 95 + 10 * i);
    rt_energy_t energy;
    rt_text_t why;
    strcpy(folder, "/tmp/rt_meter_XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/x/meter.csv", folder);
    CHECK(!rt_power_read(path, &when, NULL, &why) && strstr(why.text, "No such file"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char changed[640];
        const char *at = strstr(text, rows[i].old);
        CHECK(at != NULL);
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, rows[i].new,
                 at + strlen(rows[i].old));
        put("x", "meter.csv", changed);
        const bool good = rt_power_read(path, &when, &energy, &why);
        const bool as_said = good ? !rows[i].why : rows[i].why && strstr(why.text, rows[i].why);
        CHECK(as_said);
        if (!as_said)
            printf("row %zu: %s\n", i, good ? "read" : why.text);
        if (good)
            CHECK(fabs(energy.joules - 1500) < 1e-6 && energy.samples >= 10 &&
                  energy.lowest == 105 && energy.highest == 195 && energy.seconds == 10 &&
                  energy.idle == 80 && strcmp(energy.source, "meter") == 0);
    }
    snprintf(path, sizeof path, "rm -r %s", folder);
    CHECK(system(path) == 0);
}

/* A GPU's own folder has the counters of its parts too. */
static void test_hwmon(void)
{
    double joules = 0;
    strcpy(folder, "/tmp/rt_hwmon_XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    CHECK(!rt_hwmon_read(folder, &joules));
    put("hwmon", "none", "");
    put("hwmon/hwmon2", "name", "xe_gt0\n");
    put("hwmon/hwmon2", "energy1_input", "1\n");
    CHECK(!rt_hwmon_read(folder, &joules));
    put("hwmon/hwmon3", "name", "xe\n");
    CHECK(!rt_hwmon_read(folder, &joules)); /* power only */
    put("hwmon/hwmon3", "energy1_input", "7500000000000\n");
    CHECK(rt_hwmon_read(folder, &joules) && joules == 7.5e6);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

/* A stand-in for ROCm SMI with three GPUs, of which the second is in a partition, and the last has no counter. */
static const char rocm_smi[] =
    "#include <stdint.h>\n"
    "int rsmi_init(uint64_t flags) { return flags != 0; }\n"
    "int rsmi_num_monitor_devices(uint32_t *n) { *n = 3; return 0; }\n"
    "int rsmi_dev_pci_id_get(uint32_t d, uint64_t *id)\n"
    "{ *id = d > 1 ? 0xc300 : d ? 0x1000030a9u : 0xc100; return 0; }\n"
    "int rsmi_dev_energy_count_get(uint32_t d, uint64_t *c, float *r, uint64_t *t)\n"
    "{ *c = 4000000u + d * 1000000u; *r = 16; *t = 0; return d > 1; }\n";

static void test_rocm(void)
{
    char command[160], library[64];
    double joules = 0;
    strcpy(folder, "/tmp/rt_rocm_XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    put("smi", "smi.c", rocm_smi);
    snprintf(library, sizeof library, "%s/smi.so", folder);
    snprintf(command, sizeof command, "${CC:-cc} -shared -fPIC %s/smi/smi.c -o %s", folder,
             library);
    if (system(command) == 0) {
        CHECK(!rt_rocm_open("/nowhere/smi.so", "0000:c1:00.0"));
        CHECK(!rt_rocm_open(library, ""));
        CHECK(!rt_rocm_open(library, "0000:c2:00.0"));
        CHECK(rt_rocm_open(library, "0000:c1:00.0"));
        CHECK(rt_rocm_read(&joules) && joules == 64);
        CHECK(rt_rocm_open(library, "0001:30:15.1"));
        CHECK(rt_rocm_read(&joules) && joules == 80);
        CHECK(rt_rocm_open(library, "0000:c3:00.0") && !rt_rocm_read(&joules));
    } else {
        printf("no stand-in for ROCm SMI: no C compiler\n");
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

int main(void)
{
    test_sha256();
    test_nonce();
    test_digest();
    test_rapl();
    test_counters();
    test_meter_file();
    test_hwmon();
    test_rocm();
    return check_done();
}
