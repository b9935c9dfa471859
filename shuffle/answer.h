/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The answer to a reducer, in the format of Hadoop's ShuffleHandler:
 *
 *   HTTP/1.1 200 OK
 *   name, version   as in the request
 *   ReplyHash       base64(HMAC-SHA1(the job's key, the request's UrlHash))
 *   and per map     Text attempt | vlong part's length | vlong raw length | vint reducer | the part, as stored
 *
 * Hadoop's handler does not support a range of reducers; a range is answered as Tez' handler does:
 *
 *   and per map     vint number of reducers | for each: Text attempt | ... | vint reducer | the parts of all
 *
 * All maps are looked up before the first byte is sent: if a map is missing, the reducer receives a 500, and the
 * connection does not break in the middle.
 *
 * An answer never waits, except for the disk: it stops where it must wait for the reducer or for its job's share, and
 * continues later, possibly in another thread. So a reducer that does not read occupies no thread.
 */

#include "shuffle/request.h"
#include "shuffle/service.h"
#include "shuffle/task-queue.h"
#include "shuffle/wait.h"

struct nm_shuffle_answer;

/* Begins the answer to the request of the connection fd, which has the slot and does not block. The head must exist as
 * long as the answer. Returns 0 or -ENOMEM. */
int nm_shuffle_answer_new(struct nm_shuffle_service *s, int fd, unsigned slot, struct nm_bytes head,
                          struct nm_shuffle_answer **ret);
/* Ends the answer. An answer that is not complete counts as failed if its maps were being sent. Returns NULL. */
struct nm_shuffle_answer *nm_shuffle_answer_free(struct nm_shuffle_answer *a);
NM_DEFINE_CLEANUP(struct nm_shuffle_answer *, nm_shuffle_answer_free)

/* Returns whether the request was signed for a job, and its owner. */
bool nm_shuffle_answer_has_owner(const struct nm_shuffle_answer *a, struct nm_shuffle_owner *ret);

/* Continues the answer. Returns 0 if it is complete and the connection may stay open, an outcome of wait.h, or -errno
 * if the connection broke or was too slow. */
int nm_shuffle_answer_continue(struct nm_shuffle_answer *a, struct nm_shuffle_wait *ret_wait);

/* Refuses the connection's request. Returns the results of nm_shuffle_answer_continue() except 0. */
int nm_shuffle_refuse(int fd, enum nm_shuffle_status status, const char *why);
