/*
 * test_verify.c - verdicts, finiteness, random data; and the sums of a work model.
 *
 * Run it also with CFLAGS that contain -ffast-math: they must not change what judge/verify.c does.
 */
#include "config.h"
#include <float.h>
#include <math.h>
#include "check.h"
#include "base/error.h"
#include "judge/verify.h"
#include "judge/work.h"

/* Makes a double from bits, through a volatile, so that no compiler knows the value: under
 * -ffast-math NAN or 0.0 / 0.0 could be folded into anything. */
static double from_bits(uint64_t bits)
{
    volatile uint64_t hidden = bits;
    uint64_t plain = hidden;
    double x;
    memcpy(&x, &plain, sizeof x);
    return x;
}

static uint64_t to_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

#define QUIET_NAN from_bits(0x7ff8000000000000)
#define PLUS_INF  from_bits(0x7ff0000000000000)
#define IS_INF(x) (to_bits(x) == 0x7ff0000000000000)

static const uint64_t nonfinite[] = {
    0x7ff0000000000000, 0xfff0000000000000, /* infinities */
    0x7ff8000000000000, 0xfff8000000000000, /* quiet NaNs */
    0x7ff0000000000001, 0xfff0000000000001, /* signalling NaNs, least payload */
    0x7fffffffffffffff, 0xffffffffffffffff, /* largest payload */
};
static const uint64_t finite[] = {
    0x0000000000000000, 0x8000000000000000, /* zeros */
    0x0000000000000001, 0x800fffffffffffff, /* subnormal */
    0x7fefffffffffffff, 0xffefffffffffffff, /* largest */
    0x3ff0000000000000, 0xbff8000000000000,
};
enum { N_BITS = sizeof finite / sizeof *finite };

static void test_finite(void)
{
    double x[N_BITS], y[1000] = {0};
    for (int i = 0; i < N_BITS; i++) {
        CHECK(!rt_finite(from_bits(nonfinite[i])));
        CHECK(rt_finite(from_bits(finite[i])));
        x[i] = from_bits(nonfinite[i]);
    }
    CHECK(rt_count_nonfinite(x, N_BITS) == N_BITS);
    CHECK(rt_count_nonfinite(x, 0) == 0);
    CHECK(rt_count_nonfinite(y, 1000) == 0);
    y[0] = y[999] = y[500] = QUIET_NAN; /* both ends belong to the array */
    CHECK(rt_count_nonfinite(y, 1000) == 3);
    CHECK(rt_count_nonfinite(y + 1, 998) == 1);
}

/* Returns whether a verdict of this one check is valid. */
static bool valid(double value, double bound)
{
    rt_verdict_t v;
    rt_verdict_clear(&v);
    rt_verdict_check(&v, "x", value, bound);
    return v.valid;
}

static void test_one_check(void)
{
    CHECK(valid(0.0, 1.0));
    CHECK(valid(1.0, 1.0));
    CHECK(valid(0.0, 0.0));
    CHECK(!valid(1.0 + DBL_EPSILON, 1.0));
    CHECK(!valid(1e-300, 0.0));
    CHECK(!valid(-1e-300, 1.0)); /* the size of an error is never negative */
    CHECK(!valid(0.0, -1.0));
    for (int i = 0; i < N_BITS; i++) {
        CHECK(!valid(from_bits(nonfinite[i]), 1.0));
        CHECK(!valid(0.0, from_bits(nonfinite[i])));
        CHECK(!valid(from_bits(nonfinite[i]), from_bits(nonfinite[i])));
    }
}

static void test_verdict(void)
{
    rt_verdict_t v;
    memset(&v, 0xff, sizeof v);
    rt_verdict_clear(&v);
    CHECK(v.n == 0 && !v.valid); /* nothing has been shown */
    rt_verdict_check(&v, "first", 1.0, 4.0);
    CHECK(v.n == 1 && v.valid && v.check[0].held);
    rt_verdict_check(&v, "second", 5.0, 4.0);
    CHECK(v.n == 2 && !v.valid && v.check[0].held && !v.check[1].held);
    rt_verdict_check(&v, "third", 1.0, 4.0);
    CHECK(v.n == 3 && !v.valid); /* a later success does not repair it */
    CHECK_TEXT(v.check[1].name, "second");
    CHECK(v.check[1].value == 5.0 && v.check[1].bound == 4.0);
    rt_verdict_clear(&v);
    CHECK(v.n == 0 && !v.valid);

    rt_verdict_true(&v, "so", true);
    CHECK(v.n == 1 && v.valid && v.check[0].value == 0.0 && v.check[0].bound == 0.0);
    rt_verdict_true(&v, "not so", false);
    CHECK(!v.valid && v.check[1].value == 1.0 && !v.check[1].held);
}

/* Of several checks of one name the worst is kept, in whichever order they come. */
static void test_worse(double good, double good_bound, double bad, double bad_bound)
{
    for (int bad_first = 0; bad_first < 2; bad_first++) {
        rt_verdict_t v;
        char copy[] = "name"; /* found by its characters, not by its address */
        rt_verdict_clear(&v);
        rt_verdict_check(&v, "name", bad_first ? bad : good, bad_first ? bad_bound : good_bound);
        rt_verdict_check(&v, copy, bad_first ? good : bad, bad_first ? good_bound : bad_bound);
        CHECK(v.n == 1);
        CHECK(to_bits(v.check[0].value) == to_bits(bad));
        CHECK(to_bits(v.check[0].bound) == to_bits(bad_bound));
        CHECK(v.valid == valid(bad, bad_bound));
        CHECK(v.check[0].held == v.valid);
    }
}

static void test_same_name(void)
{
    test_worse(1.0, 4.0, 2.0, 4.0);   /* both hold */
    test_worse(3.0, 100.0, 2.0, 4.0); /* the larger value is not the worse one */
    test_worse(2.0, 4.0, 5.0, 4.0);   /* one fails */
    test_worse(1e9, 1e10, 5.0, 4.0);
    test_worse(5.0, 4.0, QUIET_NAN, 4.0); /* NaN is worst, though it is neither more nor less */
    test_worse(0.0, 0.0, 1.0, 0.0);
    test_worse(0.5, 1.0, -3.0, 1.0);
}

/* Not converged, if nothing else fails; where two checks have one name, and one of them is no question
 * of convergence, the failure is a failure. */
static void test_converged(void)
{
    rt_verdict_t v, from;
    rt_verdict_clear(&v);
    CHECK(!rt_verdict_not_converged(&v));
    rt_verdict_converged(&v, "ends", true);
    CHECK(v.valid && !rt_verdict_not_converged(&v));
    rt_verdict_converged(&v, "ends", false);
    CHECK(!v.valid && rt_verdict_not_converged(&v));
    from = v;
    rt_verdict_check(&v, "b", 3.0, 2.0);
    CHECK(!v.valid && !rt_verdict_not_converged(&v));
    CHECK(rt_verdict_not_converged(&from));
    rt_verdict_true(&from, "ends", false);
    CHECK(!from.valid && !rt_verdict_not_converged(&from));
    rt_verdict_converged(&from, "ends", false);
    CHECK(!rt_verdict_not_converged(&from));
}

static void test_full(void)
{
    static char name[RT_MAX_CHECKS + 1][16];
    rt_verdict_t v;
    rt_verdict_clear(&v);
    for (int i = 0; i <= RT_MAX_CHECKS; i++)
        snprintf(name[i], sizeof name[i], "c%d", i);
    for (int i = 0; i < RT_MAX_CHECKS; i++)
        rt_verdict_check(&v, name[i], 0.0, 1.0);
    CHECK(v.n == RT_MAX_CHECKS && v.valid);
    rt_verdict_check(&v, "c0", 2.0, 1.0); /* a known name needs no room */
    CHECK(v.n == RT_MAX_CHECKS && !v.valid);
    CHECK_DIES(RT_INVALID, "RT_MAX_CHECKS",
               { rt_verdict_check(&v, name[RT_MAX_CHECKS], 0.0, 1.0); });
}

static void test_print(void)
{
    rt_verdict_t v;
    rt_verdict_clear(&v);
    rt_verdict_check(&v, "residual", 1.25e-16, 4e-14);
    rt_verdict_check(&v, "sum", from_bits(0x7ff8000000000000), 1.0);
    FILE *out = tmpfile();
    rt_verdict_print(&v, out);
    CHECK_TEXT(check_written(out), "  residual   1.25e-16  bound  4.00e-14  held\n"
                                   "  sum             nan  bound  1.00e+00  FAILED\n");
}

static void test_hash(void)
{
    /* The first five numbers of splitmix64 from seed 1234567, as published with the algorithm. */
    static const uint64_t known[] = {
        UINT64_C(6457827717110365317),  UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423),  UINT64_C(4593380528125082431),
        UINT64_C(16408922859458223821),
    };
    for (uint64_t i = 0; i < 5; i++)
        CHECK(rt_hash(i, 1234567) == known[i]);
    CHECK(rt_hash(0, 0) == UINT64_C(0xe220a8397b1dcdaf));
}

/* By its definition: 52 bits of the hash, symmetric, ends excluded. */
static void test_random(void)
{
    const double odd = 2.0 * (double)(UINT64_C(6457827717110365317) >> 12) + 1.0;
    CHECK(rt_random(0, 1234567) == odd * 0x1p-52 - 1.0);
}

static void test_work(void)
{
    rt_work_t w;
    memset(&w, 0, sizeof w);
    CHECK(rt_work_bytes(&w) == 0.0 && rt_work_flops(&w) == 0.0);
    rt_work_add(&w, "ax", 1.0, 100.0, 16.0, 8.0);
    rt_work_add(&w, "dot", 3.0, 20.0, 64.0, 0.0);
    CHECK(w.n == 2 && w.line[1].calls == 3.0 && w.line[1].read == 64.0 && w.line[0].written == 8.0);
    CHECK_TEXT(w.line[0].kernel, "ax");
    CHECK(rt_work_bytes(&w) == 24.0 + 192.0);
    CHECK(rt_work_flops(&w) == 160.0);
    CHECK_DIES(RT_INVALID, "'bad'", { rt_work_add(&w, "bad", 1.0, -1.0, 0.0, 0.0); });
    CHECK_DIES(RT_INVALID, "'bad'", { rt_work_add(&w, "bad", QUIET_NAN, 1.0, 0.0, 0.0); });
    CHECK_DIES(RT_INVALID, "'bad'", { rt_work_add(&w, "bad", 1.0, 1.0, PLUS_INF, 0.0); });
    CHECK_DIES(RT_INVALID, "'bad'", { rt_work_add(&w, "bad", 1.0, 1.0, 0.0, -8.0); });
    while (w.n < RT_MAX_WORK)
        rt_work_add(&w, "more", 1.0, 1.0, 0.0, 0.0);
    CHECK_DIES(RT_INVALID, "RT_MAX_WORK", { rt_work_add(&w, "last", 1.0, 1.0, 0.0, 0.0); });
}

int main(void)
{
    test_finite();
    test_one_check();
    test_verdict();
    test_same_name();
    test_converged();
    test_full();
    test_print();
    test_hash();
    test_random();
    test_work();
    return check_done();
}
