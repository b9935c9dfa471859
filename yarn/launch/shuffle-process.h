/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* An nm-shuffle process, or another process of auxiliary services, that is a child of nmd. nmd writes lines to the
 * process. The process reports when it is listening. */

#include <jansson.h>
#include <systemd/sd-event.h>

#include "util/become.h"
#include "util/error.h"

/* What nm-shuffle or nm-spark-shuffle has done. An output of nm-spark-shuffle is a block. */
struct nm_yarn_shuffle_figures {
    uint64_t outputs_ok, outputs_failed, sent_bytes; /* outputs that were sent, and that could not be sent */
    uint64_t refused; /* connections that were refused, because a limit was reached */
    uint64_t slow;    /* connections that were closed, because the client read too slowly; 0 for nm-shuffle */
    /* Present numbers. Those of executors and streams are 0 for nm-shuffle. */
    uint64_t connections, executors, streams;
    uint64_t stalled; /* clients that now have read nothing for 10 s; nm-shuffle does not count them */
};

/* What nm-spark-shuffle has done for an application. */
struct nm_yarn_shuffle_usage {
    char application[64]; /* an id: letters, digits, '.', '_' and '-' */
    uint64_t outputs_ok, outputs_failed, sent_bytes, slow;
    uint64_t connections, streams, stalled; /* now */
};
#define NM_YARN_SHUFFLE_TOP_MAX 32u

struct nm_yarn_shuffle_process;

struct nm_yarn_shuffle_process_params {
    sd_event *event;
    const char *name;         /* for messages; NULL: nm-shuffle */
    int program_fd;           /* an open descriptor of nm-shuffle's file, which the caller closes */
    const char *path;         /* the program, which may be a script; NULL: program_fd is the program */
    const char *const *env;   /* NULL-terminated; NULL: only PATH and LC_ALL */
    const struct nm_identity *as; /* the process runs as this user; NULL: as nmd until it changes its user itself */
    const char *const *argv;  /* NULL-terminated */
    uint64_t most_files;      /* limit of open files */
    int nice;
    /* `listening` is called when the process is listening, `counted` when it has answered the line {"count": {}}.
     * `ended` is called once, after all other callbacks, and may
     * free the process. why: the process's last message, or how the process ended. */
    void (*listening)(uint16_t port, void *userdata);
    void (*refused)(const char *error, void *userdata);
    void (*counted)(const struct nm_yarn_shuffle_figures *figures, void *userdata);
    /* Called for the applications in that answer, before `counted`, and for one that the process has forgotten. Both
     * may be NULL. */
    void (*listed)(const struct nm_yarn_shuffle_usage *top, size_t n, void *userdata);
    void (*forgotten)(const struct nm_yarn_shuffle_usage *last, void *userdata);
    void (*ended)(const char *why, void *userdata);
    /* Called for an object with other members. May be NULL. */
    void (*other)(const json_t *line, void *userdata);
    void *userdata;
};

int nm_yarn_shuffle_process_new(const struct nm_yarn_shuffle_process_params *params,
                                struct nm_yarn_shuffle_process **ret);
/* Kills the process and frees the object. */
struct nm_yarn_shuffle_process *nm_yarn_shuffle_process_free(struct nm_yarn_shuffle_process *p);
NM_DEFINE_CLEANUP(struct nm_yarn_shuffle_process *, nm_yarn_shuffle_process_free)

/* Returns the pid. 0: the process has ended. */
pid_t nm_yarn_shuffle_process_pid(const struct nm_yarn_shuffle_process *p);
/* Sets the nice value of all threads of the process. -EPERM: the process runs as another user, and nmd lacks
 * CAP_SYS_NICE. */
int nm_yarn_shuffle_process_set_nice(struct nm_yarn_shuffle_process *p, int nice);

/* Sends a line to the process. -EPIPE: the process doesn't read its input, too much input is pending, or there is no
 * memory. In all of these cases, the process has been killed. */
int nm_yarn_shuffle_process_send(struct nm_yarn_shuffle_process *p, const char *line);

/* Copies the last line of the process's standard error to buf. Leaves buf unchanged if the process has written no
 * line. */
void nm_yarn_shuffle_process_last(struct nm_yarn_shuffle_process *p, char *buf, size_t size);

/* Blocks until the process is listening, has ended, or the timeout expires. Must not be called from the event loop. */
void nm_yarn_shuffle_process_wait(struct nm_yarn_shuffle_process *p, uint64_t timeout_usec);
