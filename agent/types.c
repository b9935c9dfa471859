/* SPDX-License-Identifier: Apache-2.0 */

/* Ids, and names of the enums in types.h: one array per enum, indexed by value; a look-up of a name is a short linear
 * search. */

#include "agent/types.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ID_PREFIX "container_"

bool nm_id_is_valid(const char *id)
{
    static const char chars[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    size_t prefix = sizeof ID_PREFIX - 1, n = strlen(id);

    return n > prefix && n < NM_ID_SIZE && strncmp(id, ID_PREFIX, prefix) == 0 && strspn(id, chars) == n;
}

/* Prints the parsed numbers again and compares the texts: an id with another number of leading zeros is another id. */
bool nm_id_parse(const char *id, uint64_t *ret_epoch, uint64_t *ret_number)
{
    char own[NM_ID_SIZE];
    uint64_t epoch, number;

    if (sscanf(id, ID_PREFIX "%" SCNu64 "_%" SCNu64, &epoch, &number) != 2)
        return false;
    nm_id_print(epoch, number, own);
    if (strcmp(id, own) != 0)
        return false;
    *ret_epoch = epoch;
    *ret_number = number;
    return true;
}

void nm_id_print(uint64_t epoch, uint64_t number, char buf[NM_ID_SIZE])
{
    (void)snprintf(buf, NM_ID_SIZE, ID_PREFIX "%" PRIu64 "_%06" PRIu64, epoch, number);
}

static const char *const execution_types[] = {
    [NM_GUARANTEED] = "GUARANTEED",
    [NM_OPPORTUNISTIC] = "OPPORTUNISTIC",
};

static const char *const states[NM_STATE_COUNT] = {
    [NM_NEW] = "NEW",           [NM_LOCALIZING] = "LOCALIZING", [NM_SCHEDULED] = "SCHEDULED",
    [NM_RUNNING] = "RUNNING",   [NM_PAUSING] = "PAUSING",       [NM_PAUSED] = "PAUSED",
    [NM_RESUMING] = "RESUMING", [NM_KILLING] = "KILLING",       [NM_COMPLETED] = "COMPLETED",
};

static const char *const exit_reasons[NM_EXIT_REASON_COUNT] = {
    [NM_EXIT_NONE] = "",
    [NM_EXIT_EXITED] = "exited",
    [NM_EXIT_SIGNALED] = "signaled",
    [NM_EXIT_OOM] = "oom-killed",
    [NM_EXIT_PREEMPTED] = "preempted",
    [NM_EXIT_PAUSE_DEADLINE] = "pause-deadline",
    [NM_EXIT_KILLED] = "killed",
    [NM_EXIT_SHED] = "shed",
    [NM_EXIT_DRAINED] = "drained",
    [NM_EXIT_NOT_FOUND] = "command-not-found",
    [NM_EXIT_NOT_EXECUTABLE] = "permission-denied",
    [NM_EXIT_BAD_USER] = "bad-user",
    [NM_EXIT_BAD_WORKDIR] = "bad-workdir",
    [NM_EXIT_LAUNCH_FAILED] = "launch-failed",
    [NM_EXIT_LOST] = "lost",
    [NM_EXIT_STOPPED] = "stopped",
    [NM_EXIT_LOCALIZATION_FAILED] = "localization-failed",
};

/* Ignores case, because users write these names in requests. */
static int lookup(const char *const *names, size_t n, const char *s)
{
    assert(s);
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(names[i], s) == 0)
            return (int)i;
    return -EINVAL;
}

const char *nm_execution_type_name(enum nm_execution_type t)
{
    assert((size_t)t < NM_ARRAY_SIZE(execution_types));
    return execution_types[t];
}

int nm_execution_type_from_string(const char *s, enum nm_execution_type *ret)
{
    int i = lookup(execution_types, NM_ARRAY_SIZE(execution_types), s);

    if (i < 0)
        return i;
    *ret = (enum nm_execution_type)i;
    return 0;
}

const char *nm_state_name(enum nm_state s)
{
    assert((size_t)s < NM_ARRAY_SIZE(states));
    return states[s];
}

const char *nm_state_word(enum nm_state s)
{
    return s == NM_SCHEDULED ? "QUEUED" : s == NM_COMPLETED ? "ENDED" : nm_state_name(s);
}

int nm_state_from_string(const char *s, enum nm_state *ret)
{
    int i = lookup(states, NM_ARRAY_SIZE(states), s);

    if (i < 0)
        return i;
    *ret = (enum nm_state)i;
    return 0;
}

const char *nm_exit_reason_name(enum nm_exit_reason r)
{
    assert((size_t)r < NM_ARRAY_SIZE(exit_reasons));
    return exit_reasons[r];
}

int nm_exit_reason_from_string(const char *s, enum nm_exit_reason *ret)
{
    int i = lookup(exit_reasons, NM_ARRAY_SIZE(exit_reasons), s);

    if (i < 0)
        return i;
    *ret = (enum nm_exit_reason)i;
    return 0;
}

const char *nm_resource_name(enum nm_resource r)
{
    assert(r == NM_MEMORY || r == NM_CPU);
    return r == NM_MEMORY ? "memory" : "cpu";
}
