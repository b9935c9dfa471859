/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The applications that may use the service, and the executors that they have registered. nmd adds and removes
 * applications. Several threads may use these functions.
 *
 * Registrations are also stored, in a file for each application, because an executor registers only once. A file is a
 * sequence of messages REGISTER as clients have sent them, each after an int32 with its size. It is read when nmd adds
 * the application. A registration that cannot be written is accepted nevertheless, as in Spark: otherwise, the
 * application would fail.
 */

#include "spark/block-file.h"
#include "spark/streams.h"
#include "util/macros.h"

#define NM_SPARK_APPLICATIONS_MAX 20000u
#define NM_SPARK_EXECUTORS_MAX 10000u /* of an application */
#define NM_SPARK_REGISTRATION_MAX (64u << 10) /* bytes of a message REGISTER */
#define NM_SPARK_STORED_MAX (UINT64_C(16) << 20) /* bytes of an application's file */
#define NM_SPARK_SECRET_MAX 1024u
/* Memory of all executors. A user may have half of it, and an application three eighths (spark/memory.h): about 50,000
 * executors with ten directories each. */
#define NM_SPARK_EXECUTORS_BYTES_MAX (UINT64_C(64) << 20)

struct nm_spark_applications;

/* state_fd: a directory that belongs to this process and is not closed here; -EBADF: registrations are not stored. */
int nm_spark_applications_new(const struct nm_spark_local_dirs *locals, int state_fd,
                              struct nm_spark_applications **ret);
struct nm_spark_applications *nm_spark_applications_free(struct nm_spark_applications *a);
NM_DEFINE_CLEANUP(struct nm_spark_applications *, nm_spark_applications_free)

const struct nm_spark_local_dirs *nm_spark_applications_locals(const struct nm_spark_applications *a);
/* Sets the percentage of one CPU that all applications may use together (shuffle/share.h). Before, each application has
 * NM_SHUFFLE_SHARE_PERCENT. */
void nm_spark_applications_share(struct nm_spark_applications *a, uint64_t percent);

/* Adds an application with its stored executors, or replaces the user and the secret of the application with this id.
 * secret: may be empty. is_stored: registrations are stored. Returns -ENOSPC if there are too many applications,
 * -EINVAL if the id cannot be the name of a file, or the secret is too long. */
int nm_spark_applications_add(struct nm_spark_applications *a, const struct nm_spark_application *application,
                              struct nm_bytes secret, bool is_stored);
/* Removes an application with its executors and its file. Returns -ENOENT if it is unknown; a file that it has is
 * removed nevertheless. */
int nm_spark_applications_remove(struct nm_spark_applications *a, const char *id);

/* The following functions return -ENOENT if the application is unknown. */
int nm_spark_applications_find(struct nm_spark_applications *a, const char *id, struct nm_spark_application *ret);
/* Copies the secret, which the caller erases. */
int nm_spark_applications_secret(struct nm_spark_applications *a, const char *id,
                                 uint8_t ret[static NM_SPARK_SECRET_MAX], size_t *ret_size);
/* Books CPU time (shuffle/share.h) before it is used. */
int nm_spark_applications_charge(struct nm_spark_applications *a, const char *id, uint64_t work_usec, uint64_t now_usec,
                                 uint64_t *ret_wait_usec);

/* What the clients of an application were sent, and their present numbers. As a change, the present numbers may be
 * negative. */
struct nm_spark_usage {
    uint64_t blocks_ok, blocks_failed, sent_bytes;
    uint64_t slow;                  /* clients that were disconnected because they read too slowly */
    uint64_t connections, streams;  /* now */
    uint64_t stalled;               /* clients that are stalled now (spark/sender.h) */
};

/* Adds what a connection has done since the last call, with the CPU time that it has used beyond what was booked. */
int nm_spark_applications_settle(struct nm_spark_applications *a, const char *id, const struct nm_spark_usage *change,
                                 uint64_t work_usec, uint64_t now_usec);
int nm_spark_applications_usage(struct nm_spark_applications *a, const char *id, struct nm_spark_usage *ret);

struct nm_spark_application_usage {
    char id[NM_SPARK_ID_SIZE];
    struct nm_spark_usage usage;
};
/* Finds the applications with stalled clients, and then those that were sent most. Returns their number, at most n. */
unsigned nm_spark_applications_top(struct nm_spark_applications *a, struct nm_spark_application_usage *ret, unsigned n);

/* Registers an executor, or replaces its directories. `message` is the message itself, with its code. On failure,
 * *ret_why is a sentence for the client: -ENOENT, -EINVAL if the id, a directory or the number of subdirectories is not
 * permitted, -ENOSPC or -EBUSY if there are too many executors, or -ENOMEM. */
int nm_spark_applications_register(struct nm_spark_applications *a, struct nm_bytes message, const char **ret_why);

struct nm_spark_executor {
    uint32_t n_sub_dirs, n;
    struct nm_spark_dir dirs[NM_SPARK_LOCAL_DIRS_MAX];
};

/* Returns -ENOENT also if the application has no such executor. */
int nm_spark_applications_executor(struct nm_spark_applications *a, const char *id, const char *exec,
                                   struct nm_spark_executor *ret);

struct nm_spark_counts {
    unsigned applications, executors;
    uint64_t not_stored; /* registrations that could not be written */
    uint64_t stalled;    /* of all applications, as in struct nm_spark_usage */
};

struct nm_spark_counts nm_spark_applications_count(struct nm_spark_applications *a);
