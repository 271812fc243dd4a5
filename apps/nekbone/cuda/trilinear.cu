/*
 * trilinear.cu - onepass with geometric factors that are computed, not read.
 *
 * Idea: the six factors are half of what `onepass` reads. In an element that is the trilinear image
 * of a cube they follow from its 8 vertices. A thread does once what all points of its column have
 * in common, and solves a system of two equations at each point (trilinear.h).
 *
 * Advantage: 64 bytes per point instead of 111.
 *
 * Price: 45 flops per point more than with factors. And it solves fewer problems than the other
 * rungs: curved elements have no such vertices. So it is reported separately: it is not a better
 * way to do the same work, but shows what it is worth to know more about the mesh.
 *
 * The mesh here is a straight box. The code does not use that its elements are cubes.
 */
#include "config.h"
#include "onepass.cuh"
#include "trilinear.h"

/* Coefficients [elements][8][3] of the maps (trilinear.h); points and weights of the quadrature. */
struct maps_t {
    const double *c;
    double z[NEK_FIXED_N], w[NEK_FIXED_N];
};

template <int n> struct trilinear_t : nek_no_turns {
    using from_t = maps_t;
    static constexpr bool once = true, spares_registers = false;
    static constexpr int shared = 24;                /* coefficients of an element */
    static constexpr int registers = n < 7 ? 36 : 0; /* for larger n the registers of the lines
                                                      * cover them */
    const maps_t &of;
    double *const map;
    const int i, j;
    nek_trilinear_t column;

    __device__ __forceinline__ trilinear_t(const maps_t &from, const nek_place<n> &at, int, int,
                                           double *memory)
        : of(from), map(memory + at.own * shared), i(at.i), j(at.j)
    {
        for (int q = at.t; at.active && q < shared; q += n * n)
            map[q] = __ldg(from.c + static_cast<size_t>(at.e) * shared + q);
    }
    /* Computed only here, after barriers: before them, vectors that are being loaded take every
     * register. The barriers also make the coefficients visible. */
    __device__ __forceinline__ void wait()
    {
        column = nek_trilinear_column(map, of.z[i], of.z[j], of.w[i] * of.w[j]);
    }
};

template <int n>
__device__ __forceinline__ void nek_apply(const trilinear_t<n> &factors, int k, double &r,
                                          double &s, double &t)
{
    double wr = r, ws = s;
    nek_trilinear_apply(&factors.column, factors.of.z[k], factors.of.w[k], &wr, &ws, &t);
    r = wr;
    s = ws;
}

using data_t = nek_line_data<maps_t>;

static void cg(nek_solver_t *s)
{
    nek_line_solve<maps_t>(s, [=](auto n, const data_t *d, int first, int last) {
        onepass_iterations<n(), trilinear_t<n()>>(s, d, first, last);
    });
}

/* Returns the coefficients of the maps of a straight box, with elements of edge 2, on the device. */
static double *make_maps(const nek_config_t *config)
{
    std::vector<double> c(static_cast<size_t>(config->local_elements) * 24);
    for (size_t e = 0; e < c.size() / 24; e++)
        for (int d = 0; d < 3; d++)
            c[24 * e + 3 * (1 << d) + d] = 1; /* where the element is does not matter */
    return static_cast<double *>(rt_clone(c.data(), c.size(), sizeof(double), RT_DEVICE));
}

static void set_up(nek_solver_t *s)
{
    data_t *d = new data_t();
    double D[NEK_MAX_N * NEK_MAX_N];
    s->data = d;
    d->vectors.factors.c = make_maps(s->problem->config);
    nek_gll(s->view.n, d->vectors.factors.z, d->vectors.factors.w, D);
    d->launch = nek_make_launch(&s->view, false, NEK_CACHED);
    nek_fixed_n<NEK_FIXED_N>(s->view.n, [&](auto n) {
        using pass_t = onepass_pass<n(), trilinear_t<n()>>;
        nek_allow_shared(nek_pass_kernel<n(), pass_t>, pass_t::bytes(d->launch.per_block));
        nek_line_set_up<n()>(s, d, onepass_finish<n(), maps_t>);
    });
}

static void tear_down(nek_solver_t *s)
{
    RT_FREE(nek_line_data_of<maps_t>(s)->vectors.factors.c, RT_DEVICE);
    nek_line_tear_down<maps_t>(s);
}

static void needed_memory(const nek_config_t *config, double bytes[RT_SPACES])
{
    nek_split_memory(config, bytes);
    bytes[RT_DEVICE] += static_cast<double>(config->local_elements) * 24 * sizeof(double);
}

static const char *refuse(const rt_kernels_t *self, const void *options, rt_text_t *why)
{
    const char *reason = nek_refuse(self, options, why);
    const nek_config_t *config = static_cast<const nek_config_t *>(options);
    if (reason)
        return reason;
    if (config->deform != 0 || config->ripple != 0)
        return "it knows elements by their 8 vertices only, and --deform and --ripple bend the "
               "edges between them; use onepass";
    if (config->stretch != 1)
        return "its vertices are those of equal cubes, which --stretch leaves; use onepass";
    return nek_refuse_line(config, onepass_extra<false>);
}

extern "C" const nek_kernels_t nek_trilinear = {
    .rung = {.precision = "FP64",
             .reproducible = true,
             .parameters = nek_line_parameters,
             .n_parameters = NEK_FACTORS, /* no choice of how factors are read */
             .refuse = refuse,
             .refuse_choice = nek_refuse_any_choice<onepass_extra<false>, false>},
    .ax = nek_packed_ax_auto,
    .vector = &nek_vector_cuda,
    .max_n = NEK_FIXED_N,
    .max_n_reason = NEK_LINE_MAX_N_REASON,
    .cg = cg,
    .set_up = set_up,
    .tear_down = tear_down,
    .memory = needed_memory,
};
