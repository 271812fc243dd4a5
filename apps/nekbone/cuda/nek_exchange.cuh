/*
 * nek_exchange.cuh - v = Q Q^T v over all elements and ranks: the lists of what is shared, and the
 * order of kernels and messages.
 *
 * Points that other ranks also have are rt_halo's work. With transport `peer`, GPUs write into each
 * other's memory: the kernel that does Q Q^T sends its rank's parts before it adds faces and edges,
 * and takes the parts of the others after that, so there are no more kernels than on one GPU. Other
 * transports exchange between the element kernel and that one.
 */
#ifndef NEK_EXCHANGE_CUH
#define NEK_EXCHANGE_CUH

#include <vector>
#include "nek_gather.cuh"
#include "nek_launch.cuh"

typedef struct {
    nek_gather_t gather;
    /* [elements] on the device: which sides are on the boundary of the whole box */
    const nek_outside_t *outside;
    rt_halo_t *halo; /* several ranks: over their shared points of v; else NULL */
    bool is_direct;  /* nek_gather exchanges itself, by `direct` */
    rt_halo_direct_t direct;
    unsigned blocks; /* of nek_gather_kernel */
} nek_exchange_t;

/* Returns a copy of the list on the device. */
template <class T> const T *nek_to_device(const std::vector<T> &list)
{
    return static_cast<const T *>(rt_clone(list.data(), list.size(), sizeof(T), RT_DEVICE));
}

/* Returns a list on the device: which sides of each element are on the boundary of the whole box. */
static inline const nek_outside_t *nek_list_outside(const nek_config_t *config)
{
    std::vector<nek_outside_t> outside(static_cast<size_t>(config->local_elements));
    for (size_t e = 0; e < outside.size(); e++) {
        int64_t at[3];
        nek_element_position(config, static_cast<int64_t>(e), at);
        for (int d = 0; d < 3; d++) {
            const int low = at[d] == 0, high = at[d] == config->elements[d] - 1;
            outside[e] |= static_cast<nek_outside_t>((low | high << 1) << 2 * d);
        }
    }
    return nek_to_device(outside);
}

/* Fills the lists of what is shared within this rank. A face, edge or corner is listed at the
 * element that has it on its high sides. */
template <int n>
void nek_list_copies(const nek_config_t *config, std::vector<int2> *faces, std::vector<int4> *edges,
                     std::vector<int> *corners)
{
    using split = nek_split<n>;
    const int64_t stride[3] = {1, config->local[0], config->local[0] * config->local[1]};
    for (int64_t e = 0; e < config->local_elements; e++) {
        int64_t at[3];
        nek_element_position(config, e, at);
        auto start = [&](int64_t of, int position) {
            return static_cast<int>(of * split::surface + position);
        };
        auto has_next = [&](int d) { return at[d] + 1 < config->first[d] + config->local[d]; };
        for (int d = 0; d < 3; d++)
            if (has_next(d) && split::face > 0)
                faces->push_back(make_int2(start(e, (2 * d + 1) * split::face),
                                           start(e + stride[d], 2 * d * split::face)));
        /* edges along k, i, j: four each, numbered by the sides of the next two directions */
        for (int g = 0; g < 3; g++) {
            const int d = (g + 2) % 3, d1 = (d + 1) % 3, d2 = (d + 2) % 3;
            if (!has_next(d1) || !has_next(d2) || split::m == 0)
                continue;
            int of[4];
            for (int q = 0; q < 4; q++)
                of[q] = start(e + (q & 1) * stride[d1] + (q >> 1) * stride[d2],
                              split::edges + (4 * g + 3 - q) * split::m);
            edges->push_back(make_int4(of[0], of[1], of[2], of[3]));
        }
        if (has_next(0) && has_next(1) && has_next(2))
            for (int q = 0; q < 8; q++)
                corners->push_back(
                    start(e + (q & 1) * stride[0] + (q >> 1 & 1) * stride[1] + (q >> 2) * stride[2],
                          split::corners + 7 - q));
    }
}

/* Returns a halo over the points that other ranks have too, and their positions in v. */
template <int n> rt_halo_t *nek_split_halo(const nek_solver_t *s, std::vector<int> *position)
{
    rt_halo_list_t list = {};
    rt_halo_desc_t desc = {};
    while (rt_halo_list_again(&list))
        nek_list_shared(
            s->problem->config, true,
            [](int, int64_t e, const int l[3]) {
                return e * nek_split<n>::surface + nek_split<n>::at(l[0], l[1], l[2]);
            },
            &list);
    position->assign(list.index, list.index + list.n);
    desc.max_components = 1;
    desc.kind = s->rung->kind;
    desc.space = s->space;
    desc.transport = s->problem->run->opt.transport;
    return rt_halo_of_list(&list, false, desc);
}

template <int n> nek_exchange_t nek_exchange_new(const nek_solver_t *s)
{
    const nek_config_t *config = s->problem->config;
    std::vector<int2> faces;
    std::vector<int4> edges;
    std::vector<int> corners, planes, apart;
    nek_exchange_t x = {};
    if (config->communication)
        nek_list_copies<n>(config, &faces, &edges, &corners);
    /* two pieces of a face per thread */
    const size_t work = faces.size() * nek_split<n>::face / nek_unit_values<n> / 2;
    const unsigned needed = work > 0 ? rt_blocks(work, NEK_ADDING_THREADS) : 1;
    const int multiprocessors = rt_device_gpu()->multiprocessors;
    x.blocks = nek_adding_blocks(NEK_GATHER_BLOCKS * multiprocessors, needed);
    if (config->communication && rt_comm_size() > 1) {
        const unsigned blocks = nek_adding_blocks(NEK_DIRECT_BLOCKS * multiprocessors, needed);
        x.halo = nek_split_halo<n>(s, &apart);
        x.is_direct = rt_halo_direct(x.halo, blocks, &x.direct);
        if (x.is_direct) {
            x.blocks = blocks;
            apart.clear(); /* the kernel has them from the halo */
        }
    }
    for (size_t q = 0; q < 8; q++)
        for (size_t z = 0; z < corners.size() / 8; z++)
            planes.push_back(corners[8 * z + q]);
    x.outside = nek_list_outside(config);
    x.gather = {nek_to_device(faces),           nek_to_device(edges),
                nek_to_device(planes),          static_cast<int>(faces.size()),
                static_cast<int>(edges.size()), static_cast<int>(corners.size() / 8),
                nek_to_device(apart),           static_cast<int>(apart.size())};
    return x;
}

static inline void nek_exchange_destroy(nek_exchange_t *x)
{
    RT_FREE_ALL(RT_DEVICE, x->outside, x->gather.apart, x->gather.face, x->gather.edge,
                x->gather.corner);
    if (x->halo)
        rt_halo_destroy(x->halo);
}

/* Adds the memory of nek_exchange_new. */
static inline void nek_exchange_memory(const nek_config_t *config, double bytes[RT_SPACES])
{
    const int64_t *l = config->local;
    double inner[3];
    for (int d = 0; d < 3; d++)
        inner[d] = static_cast<double>(l[d] - 1);
    bytes[RT_DEVICE] += static_cast<double>(config->local_elements) * sizeof(nek_outside_t);
    if (!config->communication)
        return;
    if (rt_comm_size() > 1) {
        int64_t on_rank, with_ranks;
        nek_shared_points(config, &on_rank, &with_ranks);
        bytes[RT_DEVICE] += static_cast<double>(rt_halo_predict(0, with_ranks, 1, RT_DEVICE));
        bytes[RT_PINNED] += static_cast<double>(rt_halo_predict(0, with_ranks, 1, RT_PINNED));
        bytes[RT_HOST] += 4.0 * static_cast<double>(with_ranks);
        bytes[RT_DEVICE] += sizeof(int) * static_cast<double>(with_ranks);
    }
    for (int d = 0; d < 3; d++) {
        const int d1 = (d + 1) % 3, d2 = (d + 2) % 3;
        const double across = static_cast<double>(l[d1] * l[d2]);
        if (config->n > 2)
            bytes[RT_DEVICE] += inner[d] * across * sizeof(int2) +
                                inner[d1] * inner[d2] * static_cast<double>(l[d]) * sizeof(int4);
    }
    bytes[RT_DEVICE] += inner[0] * inner[1] * inner[2] * 8 * sizeof(int);
}

/* Called after the element kernel, which left v on the elements: computes v = Q Q^T v, the norm, and
 * what Scalars makes of the sums. Messages are not hidden behind elements that touch no other rank:
 * on two GPUs that gained nothing (docs/measured/nekbone.md). */
template <int n, class Scalars, class T>
void nek_gather(const nek_exchange_t &x, const nek_scalars_t &s, T *v, int it)
{
    if constexpr (std::is_same_v<T, double>) { /* FP32 is for one rank */
        const rt_field_t field = rt_field_f64(v);
        if (x.is_direct) {
            rt_halo_count(x.halo, RT_HALO_SUM, &field);
            rt_launch_chained(nek_gather_direct_kernel<n, Scalars>, x.blocks, NEK_ADDING_THREADS, 0,
                              x.gather, x.direct, s, v, it);
        } else if (x.halo) {
            rt_halo_do(x.halo, RT_HALO_SUM, &field);
        }
    }
    if (!x.is_direct)
        rt_launch(!x.halo, nek_gather_kernel<n, Scalars, T>, x.blocks, NEK_ADDING_THREADS, 0,
                  x.gather, s, v, it);
    nek_add_ranks<Scalars>(s, it);
}

/* Adds the memory of a rung that has nothing of its own but the exchange and the scalars. */
static inline void nek_split_memory(const nek_config_t *config, double bytes[RT_SPACES])
{
    nek_exchange_memory(config, bytes);
    nek_scalars_memory(config, config->local_elements / nek_elements_a_block(config->n) + 2, bytes);
}

#endif
