/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See store-columns.h. Values that are read are checked, because a file may have undetected damage or may have been
 * written by another program. A number out of range, an unknown word or an invalid name makes the whole container
 * invalid.
 */

#include "agent/store/store-columns.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>

#include "util/parse.h"

#define C(name, kind, field) \
    {name, kind, offsetof(struct nm_container, field), \
     sizeof(((struct nm_container *)NULL)->field), NULL, false}
#define C_MEASURED(name, kind, field) \
    {name, kind, offsetof(struct nm_container, field), sizeof(((struct nm_container *)NULL)->field), NULL, true}
#define C_LATER(name, kind, field, value) \
    {name, kind, offsetof(struct nm_container, field), sizeof(((struct nm_container *)NULL)->field), value, false}

const struct nm_store_column nm_store_columns[] = {
    C("id", NM_KIND_WORD, id), /* this column must be first, since it is the primary key */
    C("seq", NM_KIND_COUNT, view.seq),
    C("name", NM_KIND_NAME, name),
    C("app", NM_KIND_NAME, app),
    C("owner", NM_KIND_WORD, owner),
    C("submitter_uid", NM_KIND_ID, submitter_uid),
    C("type", NM_KIND_TYPE, view.type),
    C("state", NM_KIND_STATE, view.state),
    C("admitted", NM_KIND_BOOL, view.admitted),
    C("exempt", NM_KIND_BOOL, view.exempt),
    C("user_paused", NM_KIND_BOOL, view.user_paused),
    C("reclaimed", NM_KIND_BOOL, view.reclaimed),
    C("memory_bytes", NM_KIND_COUNT, view.request.memory_bytes),
    C("cpu_millicores", NM_KIND_COUNT, view.request.cpu_millicores),
    C("vcores_milli", NM_KIND_U32, vcores_milli),
    C_MEASURED("measured_memory_bytes", NM_KIND_COUNT, view.measured.memory_bytes),
    C_MEASURED("measured_cpu_millicores", NM_KIND_COUNT, view.measured.cpu_millicores),
    C_MEASURED("n_samples", NM_KIND_U32, view.n_samples),
    C("submitted_usec", NM_KIND_COUNT, view.submitted_usec),
    C("started_usec", NM_KIND_COUNT, view.started_usec),
    C("paused_usec", NM_KIND_COUNT, view.paused_usec),
    C("pause_deadline_usec", NM_KIND_BITS, view.pause_deadline_usec),
    C("last_cpu_millicores", NM_KIND_COUNT, view.last_cpu_millicores),
    C_MEASURED("cpu_usage_usec", NM_KIND_COUNT, view.cpu_usage_usec),
    C("min_runtime_usec", NM_KIND_COUNT, view.min_runtime_usec),
    C("expected_usec", NM_KIND_COUNT, view.expected_usec),
    C("submitted_realtime_usec", NM_KIND_COUNT, submitted_realtime_usec),
    C("started_realtime_usec", NM_KIND_COUNT, started_realtime_usec),
    C("finished_realtime_usec", NM_KIND_COUNT, finished_realtime_usec),
    C("finished_usec", NM_KIND_COUNT, finished_usec),
    C("kill_deadline_usec", NM_KIND_COUNT, view.kill_deadline_usec),
    C("shim_pid", NM_KIND_PID, shim_pid),
    C("shim_start_ticks", NM_KIND_COUNT, shim_start_ticks),
    C("pid", NM_KIND_PID, pid),
    C("cgroup_inode", NM_KIND_BITS, cgroup_inode),
    C("exit_code", NM_KIND_I32, exit_code),
    C("exit_signal", NM_KIND_I32, exit_signal),
    C("exit_reason", NM_KIND_REASON, exit_reason),
    C("kill_reason", NM_KIND_REASON, kill_reason),
    C_MEASURED("memory_peak_bytes", NM_KIND_COUNT, memory_peak_bytes),
    C_MEASURED("swap_bytes", NM_KIND_COUNT, swap_bytes),
    C("oom_kills", NM_KIND_COUNT, oom_kills),
    C("message", NM_KIND_TEXT, message),
    C_LATER("exit_cause", NM_KIND_CAUSE, exit_cause, "'none'"),
    C_LATER("exit_decision", NM_KIND_COUNT, exit_decision, "0"),
    C_LATER("owner_code", NM_KIND_I32, owner_code, "0"),
    C_LATER("keep_result", NM_KIND_BOOL, keep_result, "0"),
    C_LATER("rerun", NM_KIND_BOOL, rerun, "0"),
    C_LATER("cpu_is_share", NM_KIND_BOOL, view.cpu_is_share, "0"),
    C_LATER("log_dir", NM_KIND_PATH, log_dir, "''"),
};

const size_t nm_store_n_columns = NM_ARRAY_SIZE(nm_store_columns);

static const void *field_of(const struct nm_store_column *col, const struct nm_container *c)
{
    return (const char *)c + col->offset;
}

/* SQLite's integers are signed. Bit patterns (BITS) are converted unchanged; amounts are limited to INT64_MAX. */
int64_t nm_store_column_number(const struct nm_store_column *col, const struct nm_container *c)
{
    const void *p = field_of(col, c);

    assert(!nm_store_kind_is_text(col->kind));
    switch (col->kind) {
    case NM_KIND_COUNT:
        return (int64_t)NM_MIN(*(const uint64_t *)p, (uint64_t)INT64_MAX);
    case NM_KIND_BITS:
        return (int64_t) * (const uint64_t *)p;
    case NM_KIND_U32:
    case NM_KIND_ID:
        return *(const uint32_t *)p;
    case NM_KIND_I32:
    case NM_KIND_PID:
        return *(const int32_t *)p;
    case NM_KIND_BOOL:
        return *(const bool *)p;
    default:
        return 0;
    }
}

const char *nm_store_column_text(const struct nm_store_column *col, const struct nm_container *c)
{
    const void *p = field_of(col, c);

    assert(nm_store_kind_is_text(col->kind));
    switch (col->kind) {
    case NM_KIND_TYPE:
        return nm_execution_type_name(*(const enum nm_execution_type *)p);
    case NM_KIND_STATE:
        return nm_state_name(*(const enum nm_state *)p);
    case NM_KIND_REASON:
        return nm_exit_reason_name(*(const enum nm_exit_reason *)p);
    case NM_KIND_CAUSE:
        return nm_reason_name(*(const enum nm_reason *)p);
    case NM_KIND_PATH:
        return *(char *const *)p ?: "";
    default:
        return p;
    }
}

/* (uid_t)-1 is not a user: setuid() and similar calls take it as "leave unchanged". */
int nm_store_column_set_number(const struct nm_store_column *col, int64_t v, struct nm_container *c)
{
    static const struct {
        int64_t min, max;
    } ranges[] = {
        [NM_KIND_COUNT] = {0, INT64_MAX},
        [NM_KIND_BITS] = {INT64_MIN, INT64_MAX},
        [NM_KIND_U32] = {0, UINT32_MAX},
        [NM_KIND_ID] = {0, UINT32_MAX - 1},
        [NM_KIND_I32] = {INT32_MIN, INT32_MAX},
        [NM_KIND_PID] = {0, INT32_MAX},
        [NM_KIND_BOOL] = {0, 1},
    };
    void *p = (char *)c + col->offset;

    if (v < ranges[col->kind].min || v > ranges[col->kind].max)
        return -EBADMSG;
    if (col->kind == NM_KIND_BOOL)
        *(bool *)p = v != 0;
    else if (col->kind == NM_KIND_COUNT || col->kind == NM_KIND_BITS)
        *(uint64_t *)p = (uint64_t)v;
    else if (col->kind == NM_KIND_U32 || col->kind == NM_KIND_ID)
        *(uint32_t *)p = (uint32_t)v;
    else
        *(int32_t *)p = (int32_t)v;
    return 0;
}

/* Sets a path. nmd opens this path as root, so the path is checked. */
static int set_path(const char *text, char **field)
{
    char *copy = *text ? strdup(text) : NULL;

    if (*text && !copy)
        return -ENOMEM;
    if (copy && (*copy != '/' || strlen(copy) >= PATH_MAX)) {
        free(copy);
        return -EBADMSG;
    }
    free(*field);
    *field = copy;
    return 0;
}

/* Ids and names must satisfy the rules for requests, because they become parts of paths. */
int nm_store_column_set_text(const struct nm_store_column *col, const char *text,
                             struct nm_container *c)
{
    void *p = (char *)c + col->offset;

    switch (col->kind) {
    case NM_KIND_TYPE:
        return nm_execution_type_from_string(text, p);
    case NM_KIND_STATE:
        return nm_state_from_string(text, p);
    case NM_KIND_REASON:
        return nm_exit_reason_from_string(text, p);
    case NM_KIND_CAUSE:
        return nm_reason_from_string(text, p);
    case NM_KIND_PATH:
        return set_path(text, p);
    case NM_KIND_NAME:
        if (!*text)
            break;
        /* fall through */
    case NM_KIND_WORD:
        if (!nm_name_is_valid(text))
            return -EBADMSG;
        break;
    default:
        break;
    }
    if (strlen(text) >= col->size)
        return -EBADMSG;
    strcpy(p, text);
    return 0;
}
