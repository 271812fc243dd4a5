/*
 * halo/halo.h - one object for every exchange between neighbours.
 *
 * Each rank hands in entries: positions in its arrays, each with a global id. Entries with equal
 * global id, on one rank or on many, are copies of the same thing and form a group. Then
 *
 *   RT_HALO_SUM   makes every copy the sum of the group's copies: Nekbone's gather-scatter QQ^T,
 *                 the shared nodes of alya-rhs and gfnn-wave;
 *   RT_HALO_COPY  makes every copy equal to the owner's: the ghost rows of fun3d-mcpi. The owner is
 *                 the one entry of the group that was marked.
 *
 * The result does not depend on timing: partial sums are added in order of rank, so all copies are
 * bitwise equal on all ranks, and a repeated run gives the same bits.
 *
 *   rt_halo_begin(halo, RT_HALO_SUM, &field);   packs and sends
 *   ...work on interior entries...              overlaps with the messages
 *   rt_halo_end(halo);                          receives, adds and writes back
 *
 * Between begin and end an entry that belongs to a group may be neither read nor written; all other
 * entries of the array are free. One exchange of a halo object at a time. Exchanges of several
 * objects may be under way together, if all ranks begin them in the same order.
 *
 * Packing and adding run where the data is (host loops, CUDA or Kokkos kernels, on the device's
 * stream). Groups on one rank need no message and are done first; with one rank there is no MPI
 * call. The messages of transports nccl and peer are on the stream as well: begin and end
 * wait for nothing and may be captured in a CUDA graph.
 */
#ifndef RT_HALO_H
#define RT_HALO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "machine/device.h"
#include "base/mem.h"

RT_C_BEGIN

typedef struct rt_halo rt_halo_t;
typedef enum { RT_HALO_SUM, RT_HALO_COPY } rt_halo_op_t;
typedef enum { RT_F64, RT_F32, RT_F16 } rt_type_t; /* F16: copies only */

/* An array whose entry i has `components` values at data[i * entry_stride + c * component_stride],
 * counted in values. Interleaved: (nc, 1); planar: (1, plane size). */
typedef struct {
    void *data;
    rt_type_t type;
    int components;
    int64_t entry_stride, component_stride;
} rt_field_t;

/* Describes a plain array of doubles, one value per entry. */
static inline rt_field_t rt_field_f64(double *data)
{
    rt_field_t f = {data, RT_F64, 1, 1, 0};
    return f;
}

typedef struct {
    int64_t n;             /* entries of this rank */
    const int64_t *index;  /* [n] position of each in the arrays, below 2^31; NULL: 0..n-1 */
    const int64_t *gid;    /* [n] global id; negative: belongs to no group */
    const uint8_t *owner;  /* [n] 1 on the owner's entry; NULL if only RT_HALO_SUM is used */
    int max_components;    /* of the fields that will be exchanged */
    rt_kind_t kind;        /* who packs: must be able to reach `space` */
    rt_space_t space;      /* of the fields */
    const char *transport; /* "auto" (the fastest of those that bring the right values, by timing),
                              "staged" (MPI from page-locked memory), "nccl", "peer" (GPUs of one
                              host write into each other's memory), "none" (no messages, only the
                              groups' local parts; used where a paper timed with communication
                              off). A transport for device memory is replaced by staged for fields
                              in host memory */
} rt_halo_desc_t;

/* Returns whether ranks would send each other nothing although there are several: a rung must then
 * not share the halo of its judge, who needs the messages. */
bool rt_halo_is_cut(const char *transport);
/* Makes a halo. Duplicate positions within a rank, or (where `owner` is given) a group with no
 * owner or two, end the program with RT_USAGE. The arrays of `desc` are not kept. All ranks give
 * `owner` or none does; a rank without entries need not. Collective. */
rt_halo_t *rt_halo_new(const rt_halo_desc_t *desc);
/* Collective. */
void rt_halo_destroy(rt_halo_t *halo);

/* The lists of a halo in the making, by a loop over its entries that runs twice, first to count them:
 *
 *     rt_halo_list_t list = {0};
 *     while (rt_halo_list_again(&list))
 *         for (...)
 *             rt_halo_list_add(&list, index, gid, owner);
 *     halo = rt_halo_of_list(&list, owners, desc);
 */
typedef struct {
    int64_t n, *index, *gid; /* as in rt_halo_desc_t; NULL while the entries are counted */
    uint8_t *owner;
    int pass;
} rt_halo_list_t;
bool rt_halo_list_again(rt_halo_list_t *list);
static inline void rt_halo_list_add(rt_halo_list_t *list, int64_t index, int64_t gid, bool owner)
{
    if (list->index) {
        list->index[list->n] = index;
        list->gid[list->n] = gid;
        list->owner[list->n] = owner;
    }
    list->n++;
}
void rt_halo_list_destroy(rt_halo_list_t *list);
/* Makes the halo that `desc` describes but for the lists, and destroys these. owners: the list names
 * them, for RT_HALO_COPY. Collective. */
rt_halo_t *rt_halo_of_list(rt_halo_list_t *list, bool owners, rt_halo_desc_t desc);

/* Begins and ends an exchange. `field` is copied. Collective over the ranks that share groups. */
void rt_halo_begin(rt_halo_t *halo, rt_halo_op_t op, const rt_field_t *field);
void rt_halo_end(rt_halo_t *halo);
/* Begins and ends an exchange, all of it on the current stream. */
void rt_halo_do(rt_halo_t *halo, rt_halo_op_t op, const rt_field_t *field);
/* Counts the bytes of an exchange (machine/comm.h) that kernels of the application did, with a
 * halo that they took over; rt_halo_begin counts its own. */
void rt_halo_count(const rt_halo_t *halo, rt_halo_op_t op, const rt_field_t *field);
/* Returns whether an exchange only puts work on the stream; the same on all ranks. */
bool rt_halo_on_stream(const rt_halo_t *halo);

typedef struct {
    int64_t groups;         /* of more than one copy, at least one of them here */
    int64_t local_entries;  /* entries of groups that live on this rank alone */
    int64_t shared_entries; /* entries of groups that other ranks hold too */
    int neighbours;
    int64_t send_values;     /* a component, all neighbours together */
    size_t bytes[RT_SPACES]; /* memory of the object */
    const char *transport;
    const char *choice; /* one line: why this transport, with the times of the others */
} rt_halo_info_t;
rt_halo_info_t rt_halo_info(const rt_halo_t *halo);

/* Returns the most memory of a halo, before there is one. n_local: entries whose gid no other rank
 * holds. n_shared: entries whose gid other ranks hold, counted once per such rank (a point on a
 * face between two ranks once, on an edge of four ranks three times). Bytes in `space` while the
 * object lives. RT_HOST: everything, for fields in host memory. RT_DEVICE: what lies on the device
 * for fields there, with the inbox of transport peer. RT_PINNED: the staging buffers of such
 * fields. */
size_t rt_halo_predict(int64_t n_local, int64_t n_shared, int max_components, rt_space_t space);
/* Returns the most host bytes in use at any time during rt_halo_new, without the packed buffers.
 * Positions must be below 16 times the entries; otherwise the list that finds duplicates (one bit
 * per position) is larger. */
size_t rt_halo_predict_setup(int64_t n_local, int64_t n_shared);

RT_C_END
#endif
