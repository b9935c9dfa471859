/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One run of a program of the operator, supervised by the event loop: the health script, a script that prints the
 * labels of the node, or nvidia-smi. Or one run of a function of nmd that may block, in a child process. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <systemd/sd-event.h>

#include "util/macros.h"

struct nm_script_verdict {
    bool timed_out;
    bool has_ended; /* false: the script's process still exists after the time-out */
    bool is_cut;    /* the output reached its limit, so its end may be missing */
    /* the first line that begins with ERROR, shortened, in printable ASCII; "" if there is no such line */
    char error[128];
    int exit_code;   /* -1 when a signal ended the script or the script timed out */
    int exit_signal;
};

/* Longest line of a script's output. The rest of a longer line is dropped. */
#define NM_ADMIN_SCRIPT_LINE_MAX 1023
/* nmd closes the pipe after this size, and a script that writes more gets SIGPIPE. A health report has one or two
 * lines, and the attributes of a node have some dozens. */
#define NM_ADMIN_SCRIPT_OUTPUT_MAX (64u * 1024)

struct nm_admin_script;

/* Called when the script has ended, and also when it times out. The callback must not free the nm_admin_script. */
typedef void (*nm_admin_script_cb_t)(const struct nm_script_verdict *v, void *userdata);

struct nm_admin_script_params {
    const char *path;   /* absolute; NULL: `function` runs instead of a program */
    /* Runs in the child, with the pipe as its standard output. Returns the exit status. It must not use the event
     * loop. */
    int (*function)(FILE *out, void *userdata);
    char *const *args;  /* the arguments after the path, terminated by NULL; a NULL pointer means no arguments */
    uint64_t timeout_usec;
    size_t output_max;  /* limit of the output in bytes; 0: NM_ADMIN_SCRIPT_OUTPUT_MAX */
    nm_admin_script_cb_t cb;
    /* Called for each line of the output, without its newline; may be NULL. The line is foreign text, without NUL. */
    void (*line_cb)(const char *line, void *userdata);
    void *userdata;
};

/* Checks whether nmd may run `path`. Returns -EPERM if another user than root and nmd's own could change the script,
 * since nmd may run as root. Returns -ENOENT, -EACCES and the like if the script can't be run. */
int nm_admin_script_check(const char *path);

/* Starts the script. -ENOENT, -EACCES, -ENOEXEC and the like: the script can't be run. -E2BIG: too many arguments. */
int nm_admin_script_new(sd_event *event, const struct nm_admin_script_params *params, struct nm_admin_script **ret);
/* Returns whether the script's process still exists. After a time-out it may take a while to end, or hang in the
 * kernel. */
bool nm_admin_script_is_running(const struct nm_admin_script *s);
/* Kills remaining processes without waiting for them. */
struct nm_admin_script *nm_admin_script_free(struct nm_admin_script *s);
NM_DEFINE_CLEANUP(struct nm_admin_script *, nm_admin_script_free)
