/*
 * nek_exchange.cuh - v = Q Q^T v over all elements and ranks: the lists of what is shared, and the
 * order of kernels and messages.
 *
 * Points that other ranks also have are rt_halo's work, in one of three ways:
 *
 *     peer     GPUs write into each other's memory. The kernel that does Q Q^T sends its rank's
 *              parts before it adds faces and edges, and takes the parts of the others after that:
 *              no more kernels than on one GPU.
 *     nccl     Messages on the stream. Elements that touch such points are computed on the second
 *              stream, and their messages are under way while the first stream has the others.
 *     others   Messages of the host, which waits for what is packed. Elements that touch such
 *              points come first, and the messages are under way while the others are computed.
 *
 * Price: three ways to maintain.
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
    bool on_stream;  /* its messages are on the stream */
    bool is_direct;  /* nek_gather exchanges itself, by `direct` */
    rt_halo_direct_t direct;
    const int *order;        /* [elements] on the device: first those of `outer`; may be NULL */
    nek_part_t outer, inner; /* elements that touch other ranks, and the others */
    unsigned element_blocks; /* of a kernel over outer and inner */
    unsigned blocks;         /* of nek_gather_kernel */
} nek_exchange_t;

/* Finds the position of local element e in the box of this rank; returns which of its sides are on
 * the boundary of the whole box. */
static inline nek_outside_t nek_place_element(const nek_config_t *config, int64_t e, int64_t at[3])
{
    at[0] = e % config->local[0];
    at[1] = e / config->local[0] % config->local[1];
    at[2] = e / (config->local[0] * config->local[1]);
    unsigned outside = 0;
    for (int d = 0; d < 3; d++) {
        const int64_t whole = config->first[d] + at[d];
        outside |= (whole == 0 ? 1u : 0u) << 2 * d;
        outside |= (whole == config->elements[d] - 1 ? 2u : 0u) << 2 * d;
    }
    return static_cast<nek_outside_t>(outside);
}

/* Returns a list on the device: which sides of each element are on the boundary of the whole box. */
static inline const nek_outside_t *nek_list_outside(const nek_config_t *config)
{
    std::vector<nek_outside_t> outside(static_cast<size_t>(config->local_elements));
    for (size_t e = 0; e < outside.size(); e++) {
        int64_t at[3];
        outside[e] = nek_place_element(config, static_cast<int64_t>(e), at);
    }
    return static_cast<const nek_outside_t *>(
        rt_clone(outside.data(), outside.size(), sizeof outside[0], RT_DEVICE));
}

/* Returns the sides next to which another rank continues, as nek_outside_t. */
static inline unsigned nek_rank_sides(const nek_config_t *config, const int64_t at[3])
{
    unsigned sides = 0;
    for (int d = 0; d < 3; d++) {
        const bool low = at[d] == 0 && config->first[d] > 0;
        const bool high = at[d] == config->local[d] - 1 &&
                          config->first[d] + config->local[d] < config->elements[d];
        sides |= (low ? 1u : 0u) << 2 * d | (high ? 2u : 0u) << 2 * d;
    }
    return sides;
}

/* Fills the lists of what is shared within this rank. A face, edge or corner is listed at the
 * element that has it on its high sides. */
template <int n>
void nek_list_shared(const nek_config_t *config, std::vector<int2> *faces, std::vector<int4> *edges,
                     std::vector<int> *corners)
{
    using split = nek_split<n>;
    const int64_t stride[3] = {1, config->local[0], config->local[0] * config->local[1]};
    for (int64_t e = 0; e < config->local_elements; e++) {
        int64_t at[3];
        nek_place_element(config, e, at);
        auto start = [&](int64_t of, int position) {
            return static_cast<int>(of * split::surface + position);
        };
        auto has_next = [&](int d) { return at[d] + 1 < config->local[d]; };
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

/* What this rank shares with others: elements, and the positions and global ids of those points. */
typedef struct {
    std::vector<int> elements; /* that have such points */
    std::vector<int> position; /* in v */
    std::vector<int64_t> gid;
} nek_apart_t;

template <int n> nek_apart_t nek_list_apart(const nek_solver_t *s)
{
    const nek_config_t *config = s->problem->config;
    nek_apart_t apart;
    for (int64_t e = 0; e < config->local_elements; e++) {
        int64_t at[3];
        nek_place_element(config, e, at);
        const unsigned sides = nek_rank_sides(config, at);
        const double *c = s->problem->c + e * n * n * n;
        if (!sides)
            continue;
        apart.elements.push_back(static_cast<int>(e));
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++, c++) {
                    const int of[3] = {i, j, k};
                    unsigned on = 0;
                    for (int d = 0; d < 3; d++)
                        on |= (of[d] == 0 ? 1u : of[d] == n - 1 ? 2u : 0u) << 2 * d;
                    if (!(on & sides) || *c == 0) /* points on the boundary are 0 on all ranks */
                        continue;
                    apart.position.push_back(
                        static_cast<int>(e * nek_split<n>::surface + nek_split<n>::at(i, j, k)));
                    apart.gid.push_back(nek_global_index(config, e, i, j, k));
                }
    }
    return apart;
}

/* Returns a halo over those points. */
static inline rt_halo_t *nek_split_halo(const nek_solver_t *s, const nek_apart_t &apart)
{
    const std::vector<int64_t> index(apart.position.begin(), apart.position.end());
    rt_halo_desc_t desc = {};
    desc.n = static_cast<int64_t>(index.size());
    desc.index = index.data();
    desc.gid = apart.gid.data();
    desc.max_components = 1;
    desc.kind = s->rung->kind;
    desc.space = s->space;
    desc.transport = s->problem->run->opt.transport;
    return rt_halo_new(&desc);
}

/* Returns a copy of the list on the device. */
template <class T> const T *nek_to_device(const std::vector<T> &list)
{
    return static_cast<const T *>(rt_clone(list.data(), list.size(), sizeof(T), RT_DEVICE));
}

/* Divides the elements into outer and inner ones. If the inner ones are consecutive anyway (ranks
 * that are layers in z), they need no list. For a bulk copy the elements of a block must be
 * consecutive, so if a block has several, all elements are outer. */
static inline void nek_divide(nek_exchange_t *x, int elements, const std::vector<int> &outer,
                              const nek_launch_t &launch)
{
    const int n_outer = static_cast<int>(outer.size());
    x->outer = {nullptr, 0, 0, 0, 0};
    x->inner = {nullptr, 0, elements, 0, 0};
    if (n_outer > 0 && launch.source == NEK_BULK && launch.per_block > 1) {
        x->outer.end = x->inner.first = elements;
    } else if (n_outer > 0) {
        std::vector<int> order(outer);
        for (int e = 0, next = 0; e < elements; e++)
            if (next < n_outer && outer[next] == e)
                next++;
            else
                order.push_back(e);
        const int first = n_outer < elements ? order[n_outer] : 0, last = order.back();
        x->order = nek_to_device(order);
        x->outer = {x->order, 0, n_outer, 0, 0};
        x->inner = {x->order, n_outer, elements, 0, 0};
        if (last - first + 1 == elements - n_outer)
            x->inner = {nullptr, first, last + 1, 0, 0};
    }
    for (nek_part_t *part : {&x->outer, &x->inner}) {
        part->blocks = rt_blocks(static_cast<size_t>(part->end - part->first), launch.per_block);
        if (launch.most > 0 && part->blocks > launch.most)
            part->blocks = launch.most;
    }
    x->inner.first_block = static_cast<int>(x->outer.blocks);
    x->element_blocks = x->outer.blocks + x->inner.blocks;
}

/* Makes the exchange for element kernels that are launched like that. */
template <int n> nek_exchange_t nek_exchange_new(const nek_solver_t *s, const nek_launch_t &launch)
{
    const nek_config_t *config = s->problem->config;
    std::vector<int2> faces;
    std::vector<int4> edges;
    std::vector<int> corners, planes;
    nek_apart_t apart;
    nek_exchange_t x = {};
    if (config->communication)
        nek_list_shared<n>(config, &faces, &edges, &corners);
    /* two pieces of a face per thread */
    const size_t work = faces.size() * nek_split<n>::face / nek_unit_values<n> / 2;
    const unsigned needed = work > 0 ? rt_blocks(work, NEK_ADDING_THREADS) : 1;
    const int multiprocessors = rt_device_gpu()->multiprocessors;
    x.blocks = nek_adding_blocks(NEK_GATHER_BLOCKS * multiprocessors, needed);
    if (config->communication && rt_comm_size() > 1) {
        const unsigned blocks = nek_adding_blocks(NEK_DIRECT_BLOCKS * multiprocessors, needed);
        apart = nek_list_apart<n>(s);
        x.halo = nek_split_halo(s, apart);
        x.on_stream = rt_halo_on_stream(x.halo);
        x.is_direct = rt_halo_direct(x.halo, blocks, &x.direct);
        if (x.is_direct) {
            x.blocks = blocks;
            apart = {}; /* all elements are treated alike, so no list is needed */
        }
    }
    nek_divide(&x, static_cast<int>(config->local_elements), apart.elements, launch);
    for (size_t q = 0; q < 8; q++)
        for (size_t z = 0; z < corners.size() / 8; z++)
            planes.push_back(corners[8 * z + q]);
    x.outside = nek_list_outside(config);
    x.gather = {nek_to_device(faces),           nek_to_device(edges),
                nek_to_device(planes),          static_cast<int>(faces.size()),
                static_cast<int>(edges.size()), static_cast<int>(corners.size() / 8),
                nek_to_device(apart.position),  static_cast<int>(apart.position.size())};
    return x;
}

static inline void nek_exchange_destroy(nek_exchange_t *x)
{
    RT_FREE(x->outside, RT_DEVICE);
    RT_FREE(x->order, RT_DEVICE);
    RT_FREE(x->gather.apart, RT_DEVICE);
    RT_FREE(x->gather.face, RT_DEVICE);
    RT_FREE(x->gather.edge, RT_DEVICE);
    RT_FREE(x->gather.corner, RT_DEVICE);
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
        bytes[RT_DEVICE] += sizeof(int) * static_cast<double>(config->local_elements + with_ranks);
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

/* Runs the element kernel on all elements; launch(chained, part) starts it on some of them. Also
 * adds up what other ranks have of v, unless nek_gather does that. On the stream this costs what
 * the second stream's small kernels take from the inner elements, half a wave more of blocks, and
 * the early start of nek_gather_kernel, which two streams do not allow: on two H200s with 2048
 * elements each, 20 us per iteration where an exchange alone takes 8. An exchange whose blocks find
 * no room while the inner elements run (nccl) comes after them. */
template <class Launch> void nek_elements(const nek_exchange_t &x, double *v, Launch launch)
{
    rt_field_t field = rt_field_f64(v);
    auto run = [&](bool chained, const nek_part_t &part) {
        if (part.end > part.first)
            launch(chained, part);
    };
    if (!x.halo || x.is_direct) {
        run(true, x.inner);
    } else if (x.on_stream) {
        rt_side_begin();
        run(false, x.outer);
        rt_halo_do(x.halo, RT_HALO_SUM, &field);
        rt_side_end();
        run(true, x.inner);
        rt_side_join();
    } else {
        run(true, x.outer);
        rt_halo_begin(x.halo, RT_HALO_SUM, &field);
        run(true, x.inner);
        rt_halo_end(x.halo);
    }
}

/* Called after nek_elements: computes the rest of v = Q Q^T v, the norm, and what Scalars makes of
 * the sums. */
template <int n, class Scalars>
void nek_gather(const nek_exchange_t &x, const nek_scalars_t &s, double *v, int it)
{
    const bool joined = x.halo && x.on_stream;
    const rt_field_t field = rt_field_f64(v);
    if (x.is_direct)
        rt_halo_count(x.halo, RT_HALO_SUM, &field);
    if (x.is_direct)
        rt_launch_chained(nek_gather_direct_kernel<n, Scalars>, x.blocks, NEK_ADDING_THREADS, 0,
                          x.gather, x.direct, s, v, it);
    else
        rt_launch(!joined, nek_gather_kernel<n, Scalars>, x.blocks, NEK_ADDING_THREADS, 0, x.gather,
                  s, v, it);
    nek_add_ranks<Scalars>(s, it);
}

/* Adds the memory of a rung that has nothing of its own but the exchange and the scalars. */
static inline void nek_split_memory(const nek_config_t *config, double bytes[RT_SPACES])
{
    nek_exchange_memory(config, bytes);
    nek_scalars_memory(config, config->local_elements / nek_elements_a_block(config->n) + 2, bytes);
}

#endif
