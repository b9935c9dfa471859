/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The CPU time and the memory that clients may use before they belong to an application: for accepted connections,
 * requests and handshakes. Each host has a part of it, so one host can't prevent the clients of others from
 * authenticating themselves. A host is an address, or the network of 64 bits of an IPv6 address, because one machine
 * can use all addresses of such a network.
 *
 * Work is booked before it is done, as in shuffle/share.h. A host may do NM_SPARK_GUEST_BURST_USEC of work without
 * waiting, and then NM_SPARK_GUEST_PERCENT of one CPU. Two hosts may share an account: the number of accounts is fixed,
 * and a secret number decides who shares. Several threads may use these functions.
 */

#include <stdint.h>

#include "util/macros.h"

#define NM_SPARK_GUEST_PERCENT 10u
#define NM_SPARK_GUEST_BURST_USEC UINT64_C(500000)
/* What all hosts may do together: as much as an application may always use. One host can't reach it. */
#define NM_SPARK_GUESTS_PERCENT 25u
#define NM_SPARK_GUESTS_BURST_USEC UINT64_C(2000000)
/* Work that would have to wait longer is refused. Clients give up after 5 s (spark.shuffle.registration.timeout). */
#define NM_SPARK_GUEST_WAIT_MAX_USEC UINT64_C(5000000)
/* Bytes of frames that are being received. A host has at most three eighths. */
#define NM_SPARK_GUESTS_BYTES_MAX (UINT64_C(64) << 20)

struct nm_spark_guests;

int nm_spark_guests_new(struct nm_spark_guests **ret);
/* All memory must have been given back. */
struct nm_spark_guests *nm_spark_guests_free(struct nm_spark_guests *g);
NM_DEFINE_CLEANUP(struct nm_spark_guests *, nm_spark_guests_free)

/* Returns the number of a host, from its name (nm_peer_name()). It is not 0. g: NULL has no limits. */
uint64_t nm_spark_guests_host(const struct nm_spark_guests *g, const char *name);
/* Books work of a host. Returns -EBUSY if it would have to wait too long. Otherwise, *ret_wait_usec is how long the
 * work must wait. */
int nm_spark_guests_book(struct nm_spark_guests *g, uint64_t host, uint64_t work_usec, uint64_t now_usec,
                         uint64_t *ret_wait_usec);
/* Books work that was done already. */
void nm_spark_guests_owe(struct nm_spark_guests *g, uint64_t host, uint64_t work_usec, uint64_t now_usec);
/* Takes memory for a host. Returns -EBUSY if a limit would be exceeded, or -ENOMEM. */
int nm_spark_guests_take(struct nm_spark_guests *g, uint64_t host, uint64_t bytes);
/* Gives back memory that was taken for the same host. */
void nm_spark_guests_give(struct nm_spark_guests *g, uint64_t host, uint64_t bytes);
