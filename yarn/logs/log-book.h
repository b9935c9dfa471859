/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The books of one application: which of its containers' logs are not uploaded yet, which upload is in progress, and
 * when the next upload is due. The code is pure: it uses no clock and no I/O.
 *
 *   containers   begin -> running -> ended: waits for an upload -> uploaded: dropped
 *   an upload    begins -> attempts, which may fail and are repeated -> done, or given up
 *   application  open -> finished (all containers have ended) -> uploaded, or given up
 *
 * An upload covers the oldest ended containers and, while the application runs, the running ones. All of its attempts
 * cover the same ended containers and have the same upload_msec, by which nm-log-uploader recognizes what an earlier
 * attempt has done. So a container is dropped only after an upload that covers it is done.
 *
 * An upload that is given up gets one more attempt, which removes what the earlier attempts have left in the remote
 * directory. If this attempt finds that one of them had stored the upload, the upload is done.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "yarn/ids.h"
#include "yarn/logs/log-context.h"
#include "yarn/logs/log-policy.h"

/* Number of ended containers in one upload. An application with more of them gets an upload before its end. */
#define NM_YARN_LOG_UPLOAD_MAX 10000u
/* Number of ended containers that wait for an upload. Further containers are not uploaded, and the application counts
 * as given up. This many containers end only if uploads fail for a long time. */
#define NM_YARN_LOG_CONTAINERS_MAX 100000u
#define NM_YARN_LOG_NEVER UINT64_MAX
#define NM_YARN_LOG_DIRS_MAX 64u
#define NM_YARN_LOG_DIR_ID_SIZE 40u

enum nm_yarn_log_state {
    NM_YARN_LOG_OPEN,     /* the application runs, or its last upload isn't done */
    NM_YARN_LOG_UPLOADED, /* all logs are uploaded */
    NM_YARN_LOG_GIVEN_UP, /* some logs are only on this node */
};

/* A log directory in which the application's containers may have logs. A disk that is away, or that was replaced by
 * another one, has another directory at the same path. */
struct nm_yarn_log_dir {
    char id[NM_YARN_LOG_DIR_ID_SIZE]; /* of yarn/launch/dir-id.h */
    char *path;                       /* for messages */
};

struct nm_yarn_log_running {
    char *id;
    bool is_accepted; /* by the policy, as a running container */
};

/* The upload in progress. */
struct nm_yarn_log_upload {
    uint64_t msec; /* identifies the upload; 0: there is none */
    size_t n;      /* it covers the first n ended containers */
    bool is_final; /* the application has finished, and the upload covers all of its containers */
    bool is_attempted; /* an attempt is running */
    bool is_abandoned; /* the upload was given up, and the last attempt removes its remains */
};

struct nm_yarn_log_book {
    struct nm_yarn_log_book *next; /* for the owner of the books */
    struct nm_yarn_application_id number;
    char id[NM_YARN_ID_SIZE];
    char *user;    /* the application's submitter, who owns the uploaded logs */
    char *account; /* the account of the containers, which owns the local logs; NULL: no container had any */
    struct nm_yarn_log_context context;
    bool has_context; /* a token contained it; otherwise it is the default */
    char *view_acl, *modify_acl;
    struct nm_yarn_log_dir *dirs;
    size_t n_dirs, dirs_size;
    struct nm_yarn_log_policy policy;
    bool rolls;
    uint64_t roll_usec; /* interval between two uploads of the running application */

    struct nm_yarn_log_running *running;
    size_t n_running, running_size;
    char **ended; /* accepted containers that have ended, the oldest first */
    size_t n_ended, ended_size;
    bool is_restored; /* by an earlier nmd: containers may be reported as ended once more */
    bool is_incomplete; /* some logs are missing in the list or can't be read, so the local logs must stay */
    char incomplete_why[120]; /* the reason, as the end of a sentence; "" if an earlier nmd has found it */

    bool is_finished;
    uint64_t finished_realtime_usec; /* saved; used only for the age that the JobHistory server sees */
    uint64_t finished_usec;          /* CLOCK_BOOTTIME; 0: an earlier nmd has seen the end */
    enum nm_yarn_log_state state;
    struct nm_yarn_log_upload upload;
    uint64_t last_msec;  /* identifies the last upload */
    uint64_t due_usec;   /* when the next upload or attempt may begin, if there is a reason for one */
    unsigned failures;   /* failed attempts since the last success */
    bool is_unsaved;     /* the saved state lacks something; for the owner of the books */
    char error[300];     /* why the last attempt failed; "" after a success */
};

/* Makes the books of an application. Takes over the texts of the context. -ENOMEM. */
int nm_yarn_log_book_new(const struct nm_yarn_application_id *id, const char *user,
                         struct nm_yarn_log_context *context, struct nm_yarn_log_book **ret);
struct nm_yarn_log_book *nm_yarn_log_book_free(struct nm_yarn_log_book *b);
NM_DEFINE_CLEANUP(struct nm_yarn_log_book *, nm_yarn_log_book_free)

/* Sets what depends on the cluster's settings. roll_usec: 0 if the cluster has no interval. The last upload of a
 * finished application is due at once. */
void nm_yarn_log_book_configure(struct nm_yarn_log_book *b, const struct nm_yarn_log_policy *policy,
                                uint64_t roll_usec, uint64_t now_usec);
/* Sets the account or the access lists if they aren't set yet. -ENOMEM. */
int nm_yarn_log_book_set_account(struct nm_yarn_log_book *b, const char *account);
int nm_yarn_log_book_set_acls(struct nm_yarn_log_book *b, const char *view_acl, const char *modify_acl);

/* Records that containers may have logs in the directory. Returns 1 if it was added, 0 if it is there already, or
 * -ENOMEM. -E2BIG: too many directories. */
int nm_yarn_log_book_add_dir(struct nm_yarn_log_book *b, const char *id, const char *path);

/* Adds a container that runs. Succeeds if it is there already. An application that seemed to have ended is open again:
 * the node may have lost the file about it, and then finds no container of it at its start. -ENOMEM. */
int nm_yarn_log_book_start(struct nm_yarn_log_book *b, const char *container, bool is_accepted);
/* Records that a container has ended. is_accepted: its logs are uploaded. Returns 1 if the container was added to the
 * ended ones, 0 if not, or -ENOMEM. */
int nm_yarn_log_book_end(struct nm_yarn_log_book *b, const char *container, bool is_accepted);
/* Adds an ended container of a saved state. -ENOMEM; -E2BIG: too many. */
int nm_yarn_log_book_restore(struct nm_yarn_log_book *b, const char *container);
/* Records that the books lack some logs. why: the end of a sentence. The first reason is kept. */
void nm_yarn_log_book_set_incomplete(struct nm_yarn_log_book *b, const char *why);
/* Records that the application has ended and has no more containers. */
void nm_yarn_log_book_finish(struct nm_yarn_log_book *b, uint64_t now_usec, uint64_t realtime_usec);

/* Returns when the next attempt is due, by the monotonic clock. NM_YARN_LOG_NEVER: there is nothing to do now. */
uint64_t nm_yarn_log_book_due(const struct nm_yarn_log_book *b);
/* Begins an attempt, which must be due, and an upload if none is in progress. Returns whether an upload was begun. */
bool nm_yarn_log_book_begin(struct nm_yarn_log_book *b, uint64_t realtime_msec);
/* Returns whether the upload, or the next one, has containers. Otherwise there is nothing to upload. */
bool nm_yarn_log_book_has_work(const struct nm_yarn_log_book *b);

enum nm_yarn_log_result {
    NM_YARN_LOG_DONE,
    NM_YARN_LOG_TEMPORARY, /* another attempt may succeed */
    NM_YARN_LOG_PERMANENT,
};

struct nm_yarn_log_now {
    uint64_t usec;         /* CLOCK_BOOTTIME */
    uint64_t started_usec; /* when nmd was started, by the same clock */
    uint64_t retry_usec;   /* for how long the last upload is attempted */
};

/* Records the result of the attempt. error: why it failed. Returns whether the upload has ended: it is done, or was
 * given up. The member `state` shows whether this was the last upload of the application. The attempt of an abandoned
 * upload ends the upload in any case, and the error of the attempt before it is kept. */
bool nm_yarn_log_book_take_result(struct nm_yarn_log_book *b, enum nm_yarn_log_result result, const char *error,
                                  const struct nm_yarn_log_now *now);
