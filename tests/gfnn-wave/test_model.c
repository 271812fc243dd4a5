/*
 * test_model.c - the head against the prototype that the iteration counts come from, ids beyond the
 * box, parts of several ranks against the whole, and voxel files: a good one, and that one broken
 * in every way.
 */
#include "config.h"
#include <math.h>
#include <string.h>
#include "base/file.h"
#include "gfnn_test.h"
#include "tests/common/guarded.h"

static char why[512];

/* --- the head --- */

/* Voxels of each tissue, and the sum of voxel number times id, of the nominal head: from the NumPy
 * prototype. Catches any change of a radius, a fold, the order of painting, or a swap of axes. */
static void test_head(void)
{
    static const struct {
        int n;
        int64_t count[8], moment;
    } heads[] = {{24, {9220, 922, 1094, 494, 993, 1003, 48, 50}, 97362409},
                 {33, {24015, 2321, 2850, 1352, 2548, 2603, 130, 118}, 657636063},
                 {48, {73900, 7194, 8852, 3974, 7893, 8041, 376, 362}, 6221361524}};
    for (int h = 0; h < 3; h++) {
        const int n = heads[h].n;
        int64_t count[8] = {0}, moment = 0, number = 0;
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++) {
                    const int id = gfnn_head_id((i + .5) / n * 2 - 1, (j + .5) / n * 2 - 1,
                                                (k + .5) / n * 2 - 1);
                    count[id]++;
                    moment += number++ * id;
                }
        CHECK(memcmp(count, heads[h].count, sizeof count) == 0);
        CHECK(moment == heads[h].moment);
    }
}

/* --- a rank's part --- */

static int64_t wrapped(int64_t i, int64_t n, int faces)
{
    if (faces == GFNN_PERIODIC)
        return (i % n + n) % n;
    return i >= 0 && i < n ? i : -1;
}

/* Returns the id of an element of the whole box, by the definition of the model. */
static int defined(const gfnn_config_t *config, int64_t i, int64_t j, int64_t k)
{
    const int64_t e[3] = {wrapped(i, config->n_elements[0], config->faces),
                          wrapped(j, config->n_elements[1], config->faces),
                          wrapped(k, config->n_elements[2], config->faces)};
    double x[3];
    for (int d = 0; d < 3; d++) {
        if (e[d] < 0)
            return GFNN_OUTSIDE;
        const int64_t each = config->n_elements[d] / config->heads[d];
        x[d] = ((double)(e[d] % each) + .5) / (double)each * 2 - 1;
    }
    if (strcmp(config->model, "uniform") == 0)
        return 0;
    return gfnn_head_id(x[0], x[1], x[2]);
}

/* Catches ids that are not wrapped, or wrapped by the number of nodes; elements beyond a face
 * that are present; a part that starts elsewhere than its nodes. */
static void check_parts(const gfnn_config_t *config, int ranks)
{
    for (int rank = 0; rank < ranks; rank++) {
        const gfnn_box_t box = gfnn_box(config, rank);
        gfnn_model_t *model = gfnn_model_new(config, &box);
        int64_t wrong = 0;
        for (int64_t k = -3; k < box.n[2] + 3; k++)
            for (int64_t j = -3; j < box.n[1] + 3; j++)
                for (int64_t i = -3; i < box.n[0] + 3; i++)
                    wrong += model->id[gfnn_at(&box.wide, i, j, k)] !=
                             defined(config, box.first[0] + i, box.first[1] + j, box.first[2] + k);
        CHECK(wrong == 0);
        gfnn_model_destroy(model);
    }
}

static void test_parts(void)
{
    static const int64_t sizes[][3] = {{20, 14, 17}, {4, 3, 5}, {3, 9, 4}};
    static const int64_t heads[][3] = {{2, 2, 1}, {1, 1, 1}, {1, 3, 2}};
    for (int s = 0; s < 3; s++)
        for (int faces = GFNN_PERIODIC; faces < GFNN_FACES; faces++)
            for (int head = 0; head < 2; head++)
                for (int ranks = 1; ranks <= 8; ranks *= 2) {
                    gfnn_config_t config =
                        gfnn_test_config(sizes[s][0], sizes[s][1], sizes[s][2], faces);
                    config.model = head ? "head" : "uniform";
                    if (ranks >= 4)
                        memcpy(config.heads, heads[s], sizeof config.heads);
                    gfnn_box_choose(&config, ranks);
                    check_parts(&config, ranks);
                }
}

static void test_materials(void)
{
    static const double head[] = {50, 70, 120, 50, 80, 100, 55, 90};
    gfnn_config_t config = gfnn_test_config(8, 8, 8, GFNN_PERIODIC);
    const gfnn_box_t box = gfnn_box(&config, 0);
    gfnn_model_t *model = gfnn_model_new(&config, &box);
    const gfnn_materials_t *m = &model->materials;
    CHECK(m->ids == 1 && m->vs[0] == 80 && m->w[0] == 1 && m->square[0] == 6400);
    CHECK(m->w[GFNN_OUTSIDE] == 0 && m->square[GFNN_OUTSIDE] == 0 && m->vs[GFNN_OUTSIDE] == 0);
    CHECK_TEXT(model->text.text, "uniform, Vs 80 m/s");
    gfnn_model_destroy(model);
    config.model = "head";
    model = gfnn_model_new(&config, &box);
    m = &model->materials;
    CHECK(m->ids == 8 && memcmp(m->vs, head, sizeof head) == 0);
    CHECK(m->square[2] == 14400 && m->w[7] == 1 && m->w[8] == 0 && m->w[GFNN_OUTSIDE] == 0);
    CHECK_TEXT(model->text.text, "head, 8 materials, Vs 50 to 120 m/s");
    gfnn_model_destroy(model);
    gfnn_model_destroy(NULL);
}

/* --- voxel files --- */

enum { NX = 3, NY = 2, NZ = 4, VOXELS = NX * NY * NZ, MOST = 1 << 13 };
static char *guarded; /* MOST bytes, behind which no access is allowed */
static char file[MOST];
static size_t size;

static uint8_t voxel(int i, int j, int k)
{
    static const uint8_t ids[] = {0, 5, 200, 255};
    return ids[(i + 2 * j + 3 * k + i * k) % 4];
}

static void write_file(void)
{
    size = (size_t)snprintf(file, sizeof file,
                            "gfnn-voxels 1\n# comment\nsize %d %d %d\nspacing 0.002\n"
                            "material 200 120 outer shell\nmaterial 0 50\nmaterial 5 80.5 core\n"
                            "material 255 60 last\ndata\n",
                            NX, NY, NZ);
    for (int k = 0; k < NZ; k++)
        for (int j = 0; j < NY; j++)
            for (int i = 0; i < NX; i++)
                file[size++] = (char)voxel(i, j, k);
}

static bool parse(const char *data, size_t n, gfnn_voxels_t *voxels)
{
    const size_t before = rt_mem_used(RT_HOST);
    char *at = guarded + MOST - n;
    memcpy(at, data, n);
    const bool good = gfnn_voxel_parse("v", at, n, false, voxels, why, sizeof why);
    const bool one_line = strncmp(why, "v: ", 3) == 0 && strlen(why) > 3 && !strchr(why, '\n');
    if (!good && !(rt_mem_used(RT_HOST) == before && one_line && !voxels->id)) {
        fprintf(stderr, "    %s\n", why);
        CHECK(!"a refusal frees all and has one line");
    }
    return good;
}

/* Catches x, y and z mixed up, ids that are not renumbered, materials in the order of the lines. */
static bool is_the_model(const gfnn_voxels_t *v)
{
    static const double vs[] = {50, 80.5, 120, 60};
    static const uint8_t id[] = {0, 5, 200, 255};
    const gfnn_materials_t *m = &v->materials;
    bool same = v->E[0] == NX && v->E[1] == NY && v->E[2] == NZ && v->ds == 0.002 && m->ids == 4;
    for (int i = 0; same && i < 4; i++)
        same = m->vs[i] == vs[i] && m->w[i] == 1 && m->square[i] == vs[i] * vs[i];
    for (int i = 0; same && i < VOXELS; i++)
        same = v->id[i] < 4 && id[v->id[i]] == voxel(i % NX, i / NX % NY, i / (NX * NY));
    return same && m->w[4] == 0 && m->w[GFNN_OUTSIDE] == 0;
}

static void test_good(void)
{
    gfnn_voxels_t v;
    CHECK(parse(file, size, &v) && is_the_model(&v));
    gfnn_voxel_free(&v);
    CHECK(gfnn_voxel_parse("v", file, size, true, &v, why, sizeof why));
    CHECK(!v.id && v.E[2] == NZ && v.ds == 0.002 && v.materials.ids == 4);
    gfnn_voxel_free(&v);
}

/* Reads a damaged file: it may give another model, but one whose ids all have a material. */
static bool reads(const char *data, size_t n)
{
    gfnn_voxels_t v;
    if (!parse(data, n, &v))
        return false;
    bool sound = v.ds > 0 && v.E[0] * v.E[1] * v.E[2] == VOXELS;
    for (int64_t q = 0; q < v.E[0] * v.E[1] * v.E[2]; q++)
        sound = sound && v.id[q] < v.materials.ids;
    CHECK(sound);
    gfnn_voxel_free(&v);
    return true;
}

static void test_damage(void)
{
    gfnn_voxels_t v;
    const guarded_damage_t damage = guarded_damage(file, size, reads);
    CHECK(damage.shortest == size && damage.refused > 4 * size);
    CHECK(!parse(file, size - 1, &v));
    CHECK(strstr(why, "23 bytes follow on the line \"data\", and 3x2x4 voxels are 24") != NULL);
}

/* Changes the first `old` to `new`: refused with this text, or (NULL) still the same. */
static void check_change(const char *old, const char *new, const char *wanted)
{
    static char broken[MOST];
    gfnn_voxels_t v;
    const char *at = strstr(file, old);
    CHECK(at != NULL);
    if (!at)
        return;
    const size_t i = (size_t)(at - file), n = size + strlen(new) - strlen(old);
    memcpy(broken, file, i);
    memcpy(broken + i, new, strlen(new));
    memcpy(broken + i + strlen(new), at + strlen(old), size - i - strlen(old));
    const bool good = parse(broken, n, &v);
    if (!wanted) {
        CHECK(good && is_the_model(&v));
    } else {
        if (good || !strstr(why, wanted))
            fprintf(stderr, "    %s: %s\n", new, good ? "accepted" : why);
        CHECK(!good && strstr(why, wanted));
    }
    if (good)
        gfnn_voxel_free(&v);
}

static void test_messages(void)
{
    check_change("gfnn-voxels", "gfnn-voxel", "v: no voxel file, whose first line is");
    check_change("voxels 1", "voxels 2", "line 1: version 2 of the format: only 1");
    check_change("voxels 1", "voxels", "line 1: the version of the format is missing");
    check_change("size 3 2 4", "size 3 2", "line 3: voxels along z is missing");
    check_change("size 3 2 4", "size 3 2 4 1", "line 3: the line should end before \"1\"");
    check_change("size 3 2 4", "size 3 0 4", "line 3: 0 voxels along y: must be 1 to");
    check_change("size 3 2 4", "size -3 2 4", "line 3: -3 voxels along x: must be 1 to");
    check_change("size 3 2 4", "size 2147483648 2 4", "line 3: 2147483648 voxels along x");
    check_change("size 3 2 4", "size 2147483647 2147483647 2147483647", "voxels are 990352");
    check_change("size 3 2 4", "size 3 2 3", "24 bytes follow on the line \"data\", and 3x2x3");
    check_change("size 3 2 4", "size 3 2 5", "24 bytes follow on the line \"data\", and 3x2x5");
    check_change("size 3 2 4\n", "", "line 3: \"spacing\": the lines are size, spac");
    check_change("size 3 2 4", "size 3 2 4\nsize 3 2 4", "line 4: \"size\": the lines are");
    check_change("size 3", "sizes 3", "line 3: \"sizes\": the lines are size, spacing");
    check_change("spacing 0.002\n", "", "line 4: \"material\": the lines are size, spacing");
    check_change("spacing 0.002", "spacing 0", "line 4: spacing 0: the side of a voxel");
    check_change("spacing 0.002", "spacing -1", "line 4: spacing -1");
    check_change("spacing 0.002", "spacing inf", "line 4: spacing inf");
    check_change("spacing 0.002", "spacing 1mm", "line 4: \"1mm\" is not a number");
    check_change("spacing", "spacing 1\nspacing", "line 5: \"spacing\": the lines are");
    check_change("material 5 80.5", "material 5 0", "line 7: material 5: Vs 0 m/s must be above");
    check_change("material 5 80.5", "material 5 -1", "line 7: material 5: Vs -1 m/s must be");
    check_change("material 5 80.5", "material 5 nan", "line 7: material 5: Vs nan");
    check_change("material 5 80.5", "material 5 core", "line 7: \"core\" is not a number");
    check_change("material 5 80.5 core", "material 5", "line 7: the material's Vs in m/s is miss");
    check_change("material 5 ", "material 256 ", "line 7: material 256: an id is a byte, 0 to 255");
    check_change("material 5 ", "material -1 ", "line 7: material -1: an id is a byte");
    check_change("material 5 ", "material 200 ", "line 7: material 200 again, after line 5");
    check_change("material 5 ", "material 6 ", "voxel (1, 0, 0), from 0, has id 5, and there is");
    check_change("\ndata\n", "\n", "line 9: \"?");
    check_change("# comment\n", "", NULL);
    check_change("# comment\n", "\n \t\n#\n  # again\n", NULL);
    check_change("outer shell\n", "  outer shell \r\n", NULL);
    check_change("\ndata\n", "\ndata \r\n", NULL);
}

static void test_structure(void)
{
    gfnn_voxels_t v;
    char text[8192];
    CHECK(!gfnn_voxel_parse("v", NULL, 0, false, &v, why, sizeof why));
    CHECK_TEXT(why, "v: the file is empty");
    static const char none[] = "gfnn-voxels 1\nsize 1 1 1\nspacing 1\ndata\n7";
    CHECK(!parse(none, strlen(none), &v));
    CHECK_TEXT(why, "v: no line \"material ID VS\" before the data");
    size_t n = (size_t)snprintf(text, sizeof text, "gfnn-voxels 1\nsize 1 1 1\nspacing 1\n");
    for (int id = 255; id >= 0; id--)
        n += (size_t)snprintf(text + n, sizeof text - n, "material %d %d\n", id, id + 1);
    n += (size_t)snprintf(text + n, sizeof text - n, "data\n7");
    CHECK(!parse(text, n, &v) && strstr(why, "256 materials: at most 255"));
    char *line = strstr(text, "material 0 "); /* 255 are as many as can be */
    memset(line, '#', 8);
    CHECK(parse(text, n, &v) && v.materials.ids == 255 && v.id[0] == '7' - 1);
    CHECK(v.materials.vs['7' - 1] == '7' + 1);
    gfnn_voxel_free(&v);
    memcpy(text, file, size);
    text[size - 1] = 77;
    CHECK(!parse(text, size, &v) && strstr(why, "voxel (2, 1, 3), from 0, has id 77, and"));
}

/* Runs on any number of ranks: rank 0 sends the file to the others. */
static void test_sample(void)
{
    rt_text_t at;
    const char *path = gfnn_test_input("ball.voxels", &at);
    int64_t E[3], count[3] = {0};
    double ds;
    gfnn_voxels_t v;
    gfnn_voxel_extents(path, E, &ds);
    CHECK(E[0] == 12 && E[1] == 10 && E[2] == 8 && ds == 1e-3);
    size_t bytes;
    rt_text_t fault;
    char *data = rt_file_load(path, 1 << 20, &bytes, &fault);
    CHECK(data && gfnn_voxel_parse(path, data, bytes, false, &v, why, sizeof why));
    free(data);
    for (int64_t i = 0; i < 960; i++)
        count[v.id[i] % 3]++;
    CHECK(v.materials.ids == 3 && count[0] == 811 && count[1] == 44 && count[2] == 105);
    for (int faces = GFNN_PERIODIC; faces < GFNN_FACES; faces++) {
        gfnn_config_t config = gfnn_test_config(E[0], E[1], E[2], faces);
        config.model = path;
        const gfnn_box_t box = gfnn_box(&config, rt_comm_rank());
        gfnn_model_t *model = gfnn_model_new(&config, &box);
        int64_t wrong = 0;
        for (int64_t k = -3; k < box.n[2] + 3; k++)
            for (int64_t j = -3; j < box.n[1] + 3; j++)
                for (int64_t i = -3; i < box.n[0] + 3; i++) {
                    const int64_t x = wrapped(box.first[0] + i, E[0], faces),
                                  y = wrapped(box.first[1] + j, E[1], faces),
                                  z = wrapped(box.first[2] + k, E[2], faces);
                    const bool there = x >= 0 && y >= 0 && z >= 0;
                    wrong += model->id[gfnn_at(&box.wide, i, j, k)] !=
                             (there ? v.id[x + E[0] * (y + E[1] * z)] : GFNN_OUTSIDE);
                }
        CHECK(wrong == 0);
        CHECK(model->materials.ids == 3 && model->materials.square[2] == 14400);
        CHECK(strstr(model->text.text, "ball.voxels, 3 materials, Vs 50 to 120 m/s") != NULL);
        gfnn_model_destroy(model);
    }
    gfnn_voxel_free(&v);
}

static void check_refused(const gfnn_config_t *config, const char *text)
{
    const gfnn_box_t box = gfnn_box(config, 0);
    CHECK_DIES(RT_USAGE, text, { gfnn_model_new(config, &box); });
}

static void test_refusals(void)
{
    rt_text_t path;
    gfnn_config_t config = gfnn_test_config(12, 10, 8, GFNN_FREE);
    config.model = "uniform:141.5";
    check_refused(&config, "Vs 141.5 m/s must be above 0 and at most Vp / sqrt(2) = 141.4 (beyond");
    config.model = "uniform:0";
    check_refused(&config, "--model uniform:0: must be uniform:VS with VS above 0, in m/s");
    config.model = "haed";
    check_refused(&config, "--model haed: must be head, uniform, or a file: No such file");
    config.model = gfnn_test_input("gf8-dt20us.gfnn", &path);
    check_refused(&config, "gf8-dt20us.gfnn: no voxel file");
    config.model = gfnn_test_input("ball.voxels", &path);
    config = gfnn_test_config(12, 10, 9, GFNN_FREE);
    config.model = gfnn_test_input("ball.voxels", &path);
    check_refused(&config, "ball.voxels has 12x10x8 voxels, not 12x10x9: leave --elements out");
    int64_t E[3];
    double ds;
    CHECK_DIES(RT_USAGE, "--model /: must be head, uniform, or a file: ", {
        gfnn_voxel_extents("/", E, &ds);
    });
}

static void one_rank(void)
{
    guarded = guarded_new(MOST);
    write_file();
    test_head();
    test_parts();
    test_materials();
    test_good();
    test_damage();
    test_messages();
    test_structure();
    test_refusals();
    guarded_free(guarded, MOST);
}

int main(int argc, char **argv)
{
    app_test_start("test_model", &argc, &argv);
    if (rt_comm_size() == 1)
        one_rank();
    test_sample();
    CHECK(rt_mem_used(RT_HOST) == 0);
    return app_test_stop(check_done());
}
