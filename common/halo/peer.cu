/*
 * halo/peer.cu - halos between the GPUs of one host: each writes into its neighbours' memory.
 *
 * Idea: one kernel per exchange. It stores the packed values through NVLink (or PCIe) into the
 * neighbour's inbox, as words that carry their epoch (halo/signal.cuh), then reads what the
 * neighbours have stored into its own. There is no flag, no fence and no block that must be last.
 *
 * Advantage: a message costs about one store to the other GPU and one read of local memory. A block
 * needs 256 threads of few registers and fits where one block of an element kernel ends; blocks of
 * NCCL need most of a multiprocessor and start only when nearly everything else is done. A kernel
 * of the application can do the exchange itself: halo/direct.cuh. Price: twice the bytes on the
 * wire, 32 bytes of inbox per value, one host, a GPU per rank; and waiting blocks hold their
 * multiprocessor for as long as the neighbour is late.
 *
 * Why nothing is overwritten. An inbox has two slots per neighbour, for even and odd epochs, and in
 * every epoch something is sent in each direction, one word if there is nothing to say. A rank
 * stores for epoch t after its own kernel of epoch t-1 has ended. By then it has received the
 * neighbour's words of epoch t-1, which are sent only after the neighbour's kernel of epoch t-2 has
 * ended; so the neighbour has already read the slot of epoch t.
 *
 * Why it ends. Blocks store before they wait, and there are no more blocks than multiprocessors (or
 * one per neighbour), so all of them run, at the latest when all older kernels have ended; none of
 * those waits for this exchange. Each block counts epochs for itself, on the GPU, so a replayed
 * graph keeps counting. A word that takes longer than PATIENCE becomes a NaN, and after that
 * nothing is waited for: the result is rated INVALID instead of hanging.
 *
 * Expected for 256 faces of 100 points: 3 to 6 us per epoch with no other kernel running. Seen on
 * two H200s: 8 with packing and unpacking, and 20 while an element kernel runs.
 */
#include "config.h"
#include "halo/peer_memory.h"
#include <algorithm>
#include <vector>
#include "machine/comm.h"
#include "halo/allreduce.h"
#include "halo/direct.cuh"
#include "halo/kernels.h"
#include "halo/transport.h"
#include "base/mem.h"

namespace
{

/* AT_ONCE: words in flight per thread. */
enum { THREADS = 256, AT_ONCE = 4, WORD = 8 };

/* Set-up has shown that writing works (halo/allreduce.cu); in a solve a rank may be late because its host is
 * late. */
constexpr unsigned long long PATIENCE = 60000000000ULL; /* ns */

/* Between this rank and a neighbour. Counts are of values as the kernel sees them. */
struct link_t {
    uint4 *there, *here; /* [2][words] in the neighbour's inbox and in this rank's */
    int64_t words;       /* of the largest message */
    int64_t send_first, send_count, recv_first, recv_count;
};

struct exchange_t {
    const void *send;
    void *recv;
    unsigned *epoch;              /* [all blocks] of the last exchange */
    unsigned long long *patience; /* 0 when something was lost */
    int blocks;                   /* per link */
    link_t link[RT_PEER_RANKS];
};

struct state_t {
    int n;
    rt_peer_memory_t inbox;
    exchange_t exchange;    /* all but what each call sets */
    unsigned *direct_epoch; /* for the application's kernels; NULL while none has taken over */
};

/* Returns word `at` of a message of `count` values. */
template <class T>
__device__ __forceinline__ unsigned long long gather_word(const T *value, int64_t at, int64_t count)
{
    unsigned long long word = 0;
#pragma unroll
    for (int k = 0; k < WORD / static_cast<int>(sizeof(T)); k++) {
        const int64_t i = at * (WORD / sizeof(T)) + k;
        if (i < count)
            word |= static_cast<unsigned long long>(value[i]) << 8 * sizeof(T) * k;
    }
    return word;
}

template <class T>
__device__ __forceinline__ void scatter_word(T *value, int64_t at, int64_t count,
                                             unsigned long long word)
{
#pragma unroll
    for (int k = 0; k < WORD / static_cast<int>(sizeof(T)); k++) {
        const int64_t i = at * (WORD / sizeof(T)) + k;
        if (i < count)
            value[i] = static_cast<T>(word >> 8 * sizeof(T) * k);
    }
}

/* Returns the words of a message; at least one, see above. */
template <class T> __device__ __forceinline__ int64_t words_of(int64_t count)
{
    constexpr int in_word = WORD / static_cast<int>(sizeof(T));
    return count > 0 ? (count + in_word - 1) / in_word : 1;
}

/* T: the largest of 64, 32 and 16 bits that divides the size of a slot. */
template <class T>
__global__ void __launch_bounds__(THREADS) exchange_kernel(const __grid_constant__ exchange_t x)
{
    const link_t &link = x.link[blockIdx.x / x.blocks];
    const int64_t step = x.blocks * THREADS;
    const int64_t id = blockIdx.x % x.blocks * THREADS + threadIdx.x;
    const unsigned epoch = x.epoch[blockIdx.x] + 1;
    const int64_t offset = epoch % 2 * link.words;

    const T *send = static_cast<const T *>(x.send) + link.send_first;
    const int64_t n_out = words_of<T>(link.send_count);
    for (int64_t first = id; first < n_out; first += AT_ONCE * step) {
        unsigned long long word[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++)
            word[u] = gather_word(send, first + u * step, link.send_count);
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++)
            if (first + u * step < n_out)
                rt_word_store(link.there + offset + first + u * step, rt_word_pack(word[u], epoch));
    }

    T *recv = static_cast<T *>(x.recv) + link.recv_first;
    const int64_t n_in = words_of<T>(link.recv_count);
    const unsigned long long begun = rt_device_clock(), patience = *x.patience;
    for (int64_t first = id; first < n_in; first += AT_ONCE * step) {
        uint4 got[AT_ONCE];
        bool late, lost = false;
        do {
            late = false;
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++) {
                const int64_t at = first + u * step;
                got[u] = rt_word_load(link.here + offset + (at < n_in ? at : n_in - 1));
            }
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++)
                late = late || !rt_word_is_of(got[u], epoch);
            lost = late && rt_device_clock() - begun > patience;
        } while (late && !lost);
        if (lost)
            *x.patience = 0;
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++)
            scatter_word(recv, first + u * step, link.recv_count,
                         rt_word_is_of(got[u], epoch) ? rt_word_unpack(got[u]) : ~0ULL /* NaNs */);
    }

    __syncthreads(); /* all have read the epoch */
    if (threadIdx.x == 0)
        x.epoch[blockIdx.x] = epoch;
}

int64_t most_words(size_t bytes)
{
    return static_cast<int64_t>(std::max<size_t>((bytes + WORD - 1) / WORD, 1));
}

/* Returns where in its inbox each rank wants each other's words: start[of * ranks + from], in
 * words. */
std::vector<int64_t> share_starts(const state_t *state, const int *peers)
{
    const auto ranks = static_cast<size_t>(rt_comm_size());
    std::vector<int64_t> mine(ranks), start(ranks * ranks);
    int64_t next = 0;
    for (int m = 0; m < state->n; m++) {
        mine[peers[m]] = next;
        next += 2 * state->exchange.link[m].words;
    }
    rt_comm_allgather(mine.data(), ranks * sizeof(int64_t), start.data());
    return start;
}

unsigned *new_epochs(size_t n)
{
    unsigned *epoch = RT_NEW(unsigned, n, RT_DEVICE);
    if (n > 0)
        rt_fill(epoch, RT_DEVICE, 0, n * sizeof *epoch);
    return epoch;
}

/* Opens the inboxes; peer_why_not has shown that these ranks can. Collective. */
void *peer_open(int n_peers, const int *peers, const size_t *most)
{
    auto *state = new state_t();
    exchange_t &x = state->exchange;
    char text[RT_PEER_LINE] = "";
    int64_t longest = 1, all = 1; /* an empty inbox cannot be shared */
    state->n = n_peers;
    for (int m = 0; m < n_peers; m++) {
        x.link[m].words = most_words(most[m]);
        longest = std::max(longest, x.link[m].words);
        all += 2 * x.link[m].words;
    }
    const std::vector<int64_t> start = share_starts(state, peers);
    if (!rt_peer_new(&state->inbox, static_cast<size_t>(all) * sizeof(uint4), text))
        rt_refuse(RT_ENVIRONMENT, "--transport peer: %s; use nccl or staged", text);
    const int me = rt_comm_rank(), ranks = rt_comm_size();
    for (int m = 0; m < n_peers; m++) {
        const int peer = peers[m];
        x.link[m].here = static_cast<uint4 *>(state->inbox.of[me]) + start[me * ranks + peer];
        x.link[m].there = static_cast<uint4 *>(state->inbox.of[peer]) + start[peer * ranks + me];
    }
    const int room = rt_device_gpu()->multiprocessors / std::max(n_peers, 1);
    x.blocks = static_cast<int>(std::min<int64_t>(
        rt_blocks(static_cast<size_t>(longest), THREADS * AT_ONCE), std::max(room, 1)));
    const size_t epochs = static_cast<size_t>(x.blocks) * static_cast<size_t>(n_peers);
    x.epoch = new_epochs(epochs);
    x.patience =
        static_cast<unsigned long long *>(rt_clone(&PATIENCE, 1, sizeof PATIENCE, RT_DEVICE));
    return state;
}

void peer_close(void *opaque)
{
    auto *state = static_cast<state_t *>(opaque);
    rt_device_synchronize();
    RT_FREE(state->exchange.epoch, RT_DEVICE);
    RT_FREE(state->direct_epoch, RT_DEVICE);
    RT_FREE(state->exchange.patience, RT_DEVICE);
    rt_peer_destroy(&state->inbox);
    delete state;
}

template <class T> void launch(const exchange_t &x, int links)
{
    exchange_kernel<T><<<links * x.blocks, THREADS, 0, rt_stream()>>>(x);
    RT_CUDA_LAUNCHED();
}

void peer_start(void *opaque, const rt_messages_t *messages)
{
    const auto *state = static_cast<const state_t *>(opaque);
    exchange_t x = state->exchange;
    const size_t bytes = messages->bytes_per_value;
    const int64_t size = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 2;
    const int64_t values = static_cast<int64_t>(bytes) / size; /* per slot */
    x.send = messages->send;
    x.recv = messages->recv;
    for (int m = 0; m < state->n; m++) {
        x.link[m].send_first = messages->out[m].first * values;
        x.link[m].send_count = messages->out[m].count * values;
        x.link[m].recv_first = messages->in[m].first * values;
        x.link[m].recv_count = messages->in[m].count * values;
    }
    if (state->n == 0)
        return;
    rt_side_begin();
    if (size == 8)
        launch<uint64_t>(x, state->n);
    else if (size == 4)
        launch<uint32_t>(x, state->n);
    else
        launch<uint16_t>(x, state->n);
    rt_side_end();
}

void peer_finish(void *)
{
    rt_side_join();
}

/* rt_device_allreduce finds out, by having every rank write to every other. */
const char *peer_why_not(int, const int *)
{
    return rt_device_allreduce_get() ? nullptr : rt_device_allreduce_why_not();
}

} // namespace

extern "C" {

const rt_transport_t rt_transport_peer = {.name = "peer",
                                          .buffer_space = RT_DEVICE,
                                          .open = peer_open,
                                          .close = peer_close,
                                          .start = peer_start,
                                          .finish = peer_finish,
                                          .why_not = peer_why_not,
                                          .on_stream = true};

} // extern "C"

bool rt_halo_direct(rt_halo_t *halo, unsigned blocks, rt_halo_direct_t *d)
{
    const rt_halo_plan_t *plan;
    const rt_halo_range_t *slots;
    auto *state =
        static_cast<state_t *>(rt_halo_hand_over(halo, &rt_transport_peer, &plan, &slots));
    *d = {};
    if (!state)
        return false;
    RT_EXPECT(!state->direct_epoch, RT_USAGE, "a halo that kernels have taken over already");
    state->direct_epoch = new_epochs(blocks);
    d->groups = plan->n_shared;
    d->copy_start = plan->copy_start;
    d->copy = plan->copy;
    d->slot_start = plan->slot_start;
    d->slot = plan->slot;
    d->own_slot = plan->own_slot;
    for (int m = 0; m < state->n; m++) {
        const link_t &link = state->exchange.link[m];
        d->link[m] = {static_cast<int32_t>(slots[m].first + slots[m].count),
                      link.there - slots[m].first, link.here - slots[m].first, link.words};
    }
    d->epoch = state->direct_epoch;
    d->patience = state->exchange.patience;
    return true;
}
