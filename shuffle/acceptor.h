/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Accepts connections, in a thread of its own. This thread also waits for all connections that wait (shuffle/idle.h).
 * Threads of a pool (shuffle/pool.h) do the work that may block on a disk.
 */

#include <stdint.h>

#include "shuffle/connections.h"
#include "shuffle/turns.h"

/* All functions except answer() are called in the acceptor's thread; end() also in a thread of the pool. */
struct nm_shuffle_acceptor_ops {
    /* Takes over an accepted descriptor, which does not block, in all cases. Returns 0, -EBUSY or -ECANCELED, or an
     * error after which the next connection would fail too. */
    int (*begin)(int fd, const char *host, void *userdata);
    /* Continue a connection that nm_shuffle_idle_ready() or nm_shuffle_idle_expired() has returned. */
    void (*ready)(struct nm_shuffle_turns *t);
    void (*expired)(struct nm_shuffle_turns *t);
    /* Is called after each wait of the loop, which takes at most 250 ms while there are connections. May be NULL. */
    void (*tick)(void *userdata);
    /* See struct nm_shuffle_loop. */
    int (*answer)(struct nm_shuffle_turns *t, struct nm_shuffle_wait *ret_wait);
    void (*end)(struct nm_shuffle_turns *t, int result);
};

struct nm_shuffle_acceptor_params {
    const char *address; /* "ADDRESS:PORT", "[V6]:PORT" or "PORT" (all addresses); port 0: a free port */
    struct nm_shuffle_connections *connections;
    const struct nm_shuffle_acceptor_ops *ops;
    void *userdata;
    int backlog;      /* connections that may wait until they are accepted; 0: 512 */
    bool keeps_alive; /* the kernel checks whether the clients of idle connections are still there */
};

struct nm_shuffle_acceptor;

/* Listens. Returns -EINVAL if the address is not valid, else -errno; *ret_message as in nm_fail(). */
int nm_shuffle_acceptor_new(const struct nm_shuffle_acceptor_params *params, struct nm_shuffle_acceptor **ret,
                            char **ret_message);
/* Starts to accept connections. */
int nm_shuffle_acceptor_start(struct nm_shuffle_acceptor *a);
/* Ends the connections, waits until no thread has one, and frees the acceptor. */
struct nm_shuffle_acceptor *nm_shuffle_acceptor_free(struct nm_shuffle_acceptor *a);
NM_DEFINE_CLEANUP(struct nm_shuffle_acceptor *, nm_shuffle_acceptor_free)

/* Returns what the connections need. It is valid until the acceptor is freed. */
const struct nm_shuffle_loop *nm_shuffle_acceptor_loop(const struct nm_shuffle_acceptor *a);
uint16_t nm_shuffle_acceptor_port(const struct nm_shuffle_acceptor *a);
