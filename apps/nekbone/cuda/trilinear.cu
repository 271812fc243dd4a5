/*
 * trilinear.cu - onepass with geometric factors that are computed, not read.
 *
 * Idea: the six factors are half of what `onepass` reads. In an element that is the trilinear image
 * of a cube they follow from its 8 vertices. A thread forms once the parts of the Jacobian that all
 * points of its column have in common, and the rest at each point.
 *
 * Advantage: 64 bytes per point instead of 111.
 *
 * Price: about 80 flops per point and a division. And it solves fewer problems than the other
 * rungs: curved elements have no such vertices. So it is reported separately: it is not a better
 * way to do the same work, but shows what it is worth to know more about the mesh.
 *
 * The mesh here is a straight box. The code does not use that its elements are cubes.
 */
#include "config.h"
#include "onepass.cuh"

/* Vertices [elements][8][3] of x, y, z, the first direction fastest; points and weights of the
 * quadrature. */
struct vertices_t {
    const double *xyz;
    double z[NEK_FIXED_N], w[NEK_FIXED_N];
};

template <int n> struct trilinear_t : nek_no_turns {
    using from_t = vertices_t;
    static constexpr bool once = true;
    static constexpr int shared = 24;                /* coordinates of the vertices of an element */
    static constexpr int registers = n < 7 ? 36 : 0; /* for larger n the registers of the lines
                                                      * cover them */
    static constexpr bool spares_registers = false;
    const vertices_t &of;
    const double *vertices;
    int i, j;
    double r0[3], r1[3], s0[3], s1[3]; /* dx/dr and dx/ds at the two ends of the column */
    double t[3], weight;               /* dx/dt, the same along the whole column */

    __device__ __forceinline__ trilinear_t(const vertices_t &from, const nek_place<n> &at, int, int,
                                           double *memory)
        : of(from), vertices(memory + at.own * shared), i(at.i), j(at.j)
    {
        double *const own = memory + at.own * shared;
        for (int q = at.t; at.active && q < shared; q += n * n)
            own[q] = __ldg(from.xyz + static_cast<size_t>(at.e) * shared + q);
    }
    /* Computed only here, after barriers: before them, vectors that are being loaded take every
     * register. The barriers also make the vertices visible. */
    __device__ __forceinline__ void wait()
    {
        const double r = of.z[i], s = of.z[j];
        const double a = (1 - r) / 2, b = (1 + r) / 2, c = (1 - s) / 2, d = (1 + s) / 2;
#pragma unroll
        for (int q = 0; q < 3; q++) {
            double x[8];
#pragma unroll
            for (int l = 0; l < 8; l++)
                x[l] = vertices[3 * l + q];
            r0[q] = ((x[1] - x[0]) * c + (x[3] - x[2]) * d) / 2;
            r1[q] = ((x[5] - x[4]) * c + (x[7] - x[6]) * d) / 2;
            s0[q] = ((x[2] - x[0]) * a + (x[3] - x[1]) * b) / 2;
            s1[q] = ((x[6] - x[4]) * a + (x[7] - x[5]) * b) / 2;
            t[q] = (((x[4] - x[0]) * a + (x[5] - x[1]) * b) * c +
                    ((x[6] - x[2]) * a + (x[7] - x[3]) * b) * d) /
                   2;
        }
        weight = of.w[i] * of.w[j];
    }
    /* G = weight / det * C C^T; the rows of C are the cross products of two of dx/dr, dx/ds,
     * dx/dt. */
    __device__ __forceinline__ void load(int k, double (&g)[6]) const
    {
        const double low = (1 - of.z[k]) / 2, high = (1 + of.z[k]) / 2;
        double r[3], s[3], C[3][3];
#pragma unroll
        for (int q = 0; q < 3; q++) {
            r[q] = r0[q] * low + r1[q] * high;
            s[q] = s0[q] * low + s1[q] * high;
        }
#pragma unroll
        for (int q = 0; q < 3; q++) {
            const int q1 = (q + 1) % 3, q2 = (q + 2) % 3;
            C[0][q] = s[q1] * t[q2] - s[q2] * t[q1];
            C[1][q] = t[q1] * r[q2] - t[q2] * r[q1];
            C[2][q] = r[q1] * s[q2] - r[q2] * s[q1];
        }
        const double det = r[0] * C[0][0] + r[1] * C[0][1] + r[2] * C[0][2];
        const double f = weight * of.w[k] / det;
#pragma unroll
        for (int c = 0, m = 0; c < 3; c++)
#pragma unroll
            for (int d = c; d < 3; d++, m++)
                g[m] = f * (C[c][0] * C[d][0] + C[c][1] * C[d][1] + C[c][2] * C[d][2]);
    }
};

using data_t = nek_line_data<vertices_t>;

static void cg(nek_solver_t *s)
{
    nek_line_solve<vertices_t>(s, [=](auto n, const data_t *d, int first, int last) {
        onepass_iterations<n(), trilinear_t<n()>>(s, d, first, last);
    });
}

/* Returns the vertices of a straight box, with elements of edge 2, on the device. */
static double *make_vertices(const nek_config_t *config)
{
    std::vector<double> xyz;
    for (int64_t e = 0; e < config->local_elements; e++) {
        int64_t at[3];
        nek_element_position(config, e, at);
        for (int vertex = 0; vertex < 8; vertex++)
            for (int d = 0; d < 3; d++)
                xyz.push_back(2.0 * static_cast<double>(at[d] + (vertex >> d & 1)));
    }
    return static_cast<double *>(rt_clone(xyz.data(), xyz.size(), sizeof(double), RT_DEVICE));
}

static void set_up(nek_solver_t *s)
{
    data_t *d = new data_t();
    double D[NEK_MAX_N * NEK_MAX_N];
    s->data = d;
    d->vectors.factors.xyz = make_vertices(s->problem->config);
    nek_gll(s->view.n, d->vectors.factors.z, d->vectors.factors.w, D);
    d->launch = nek_make_launch(&s->view, false, NEK_CACHED);
    nek_fixed_n<NEK_FIXED_N>(s->view.n, [&](auto n) {
        using pass_t = onepass_pass<n(), trilinear_t<n()>>;
        nek_allow_shared(nek_pass_kernel<n(), pass_t>, pass_t::bytes(d->launch.per_block));
        nek_line_set_up<n()>(s, d, onepass_finish<n(), vertices_t>);
    });
}

static void tear_down(nek_solver_t *s)
{
    RT_FREE(nek_line_data_of<vertices_t>(s)->vectors.factors.xyz, RT_DEVICE);
    nek_line_tear_down<vertices_t>(s);
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
