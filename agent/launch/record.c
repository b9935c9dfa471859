/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parses and prints the launch record: the state of a shim's command, as a few "key value" lines. The shim sends the
 * record as a message to the present nmd. It also writes the record to the file `record` in the container's directory,
 * for an nmd that is started later.
 *
 * The shim and nmd may have different versions, because a shim runs as long as its command, and nmd may be upgraded
 * meanwhile. So the record is text, and unknown keys are skipped. All other faults are -EBADMSG: a repeated key, a
 * missing key of the phase, a number out of range. This file uses only libc, because the shim is linked with it.
 */

#include "agent/launch/record.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>

#include "agent/launch/output.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/parse.h"

#define HEAD "nm-launch-record 1\n"
#define ERRNO_LIMIT 4095 /* MAX_ERRNO of the kernel */

static const char *const stage_names[NM_LAUNCH_STAGE_COUNT] = {
    [NM_LAUNCH_STAGE_NONE] = "none",       [NM_LAUNCH_STAGE_SHIM] = "shim",
    [NM_LAUNCH_STAGE_LOGS] = "logs",       [NM_LAUNCH_STAGE_USER] = "user",
    [NM_LAUNCH_STAGE_WORKDIR] = "workdir", [NM_LAUNCH_STAGE_CONFINE] = "confinement",
    [NM_LAUNCH_STAGE_EXEC] = "exec",
};

static const char *const phase_names[] = {
    [NM_LAUNCH_WAITING] = "waiting",
    [NM_LAUNCH_STARTED] = "started",
    [NM_LAUNCH_ENDED] = "ended",
};

const char *nm_launch_stage_name(enum nm_launch_stage s)
{
    return (unsigned)s < NM_LAUNCH_STAGE_COUNT ? stage_names[s] : "unknown";
}

enum key {
    KEY_PHASE,
    KEY_PID,
    KEY_STARTED,
    KEY_STARTED_REALTIME,
    KEY_ENDED,
    KEY_ENDED_REALTIME,
    KEY_FAILED_STAGE,
    KEY_FAILED_ERRNO,
    KEY_EXIT_CODE,
    KEY_EXIT_SIGNAL,
    KEY_MAX_RSS,
    KEY_OOM_KILLS,
    KEY_MEMORY_PEAK,
    KEY_OOMS,
    KEY_OUTPUT_MAX,
    KEY_OUTPUT_LOST,
    KEY_COUNT,
};

static const struct {
    const char *name;
    uint64_t max;
} keys[KEY_COUNT] = {
    [KEY_PHASE] = {"phase", 0},
    [KEY_PID] = {"pid", INT_MAX},
    [KEY_STARTED] = {"started_usec", UINT64_MAX},
    [KEY_STARTED_REALTIME] = {"started_realtime_usec", UINT64_MAX},
    [KEY_ENDED] = {"ended_usec", UINT64_MAX},
    [KEY_ENDED_REALTIME] = {"ended_realtime_usec", UINT64_MAX},
    [KEY_FAILED_STAGE] = {"failed_stage", 0},
    [KEY_FAILED_ERRNO] = {"failed_errno", ERRNO_LIMIT},
    [KEY_EXIT_CODE] = {"exit_code", 255},
    [KEY_EXIT_SIGNAL] = {"exit_signal", 64},
    [KEY_MAX_RSS] = {"max_rss_bytes", UINT64_MAX},
    [KEY_OOM_KILLS] = {"oom_kills", UINT64_MAX},
    [KEY_MEMORY_PEAK] = {"memory_peak_bytes", UINT64_MAX},
    [KEY_OOMS] = {"ooms", UINT64_MAX},
    [KEY_OUTPUT_MAX] = {"output_max_bytes", UINT64_MAX},
    [KEY_OUTPUT_LOST] = {"output_lost_bytes", UINT64_MAX},
};

static int parse_value(enum key key, const char *text, uint64_t *ret)
{
    uint64_t v;

    if (key == KEY_PHASE)
        return NM_PARSE_NAME(phase_names, text, ret) < 0 ? -EBADMSG : 0;
    if (key == KEY_FAILED_STAGE)
        return NM_PARSE_NAME(stage_names, text, ret) < 0 ? -EBADMSG : 0;
    if (nm_parse_u64(text, &v) < 0 || v > keys[key].max)
        return -EBADMSG;
    if (key == KEY_OUTPUT_MAX && v > 0 && v < NM_OUTPUT_MIN_BYTES)
        return -EBADMSG;
    *ret = v;
    return 0;
}

/* Parses one "key value" line. The newline is already replaced by NUL. */
static int parse_line(char *line, uint64_t values[static KEY_COUNT], unsigned *seen)
{
    char *space = strchr(line, ' ');

    if (!space || space == line)
        return -EBADMSG;
    *space = '\0';
    for (unsigned k = 0; k < KEY_COUNT; k++) {
        if (!nm_streq(keys[k].name, line))
            continue;
        if (*seen & (1U << k))
            return -EBADMSG;
        *seen |= 1U << k;
        return parse_value((enum key)k, space + 1, &values[k]);
    }
    return 0;
}

static int parse_lines(const char *text, uint64_t values[static KEY_COUNT], unsigned *ret_seen)
{
    unsigned seen = 0;

    while (*text) {
        char line[128];
        const char *end = strchr(text, '\n');

        /* a last line without a newline means that the text was cut */
        if (!end || (size_t)(end - text) >= sizeof line)
            return -EBADMSG;
        memcpy(line, text, (size_t)(end - text));
        line[end - text] = '\0';
        if (parse_line(line, values, &seen) < 0)
            return -EBADMSG;
        text = end + 1;
    }
    *ret_seen = seen;
    return 0;
}

static bool has(unsigned seen, unsigned wanted)
{
    return (seen & wanted) == wanted;
}

/* Returns whether all keys that the phase requires are present, and no keys that exclude each other. */
static bool is_complete(const uint64_t v[static KEY_COUNT], unsigned seen)
{
    const unsigned started = 1U << KEY_PID | 1U << KEY_STARTED | 1U << KEY_STARTED_REALTIME;
    const unsigned ended = 1U << KEY_ENDED | 1U << KEY_ENDED_REALTIME;
    const unsigned failed = 1U << KEY_FAILED_STAGE | 1U << KEY_FAILED_ERRNO;
    const unsigned exited = 1U << KEY_EXIT_CODE | 1U << KEY_EXIT_SIGNAL | 1U << KEY_MAX_RSS;
    bool has_code = seen & (1U << KEY_EXIT_CODE), has_signal = seen & (1U << KEY_EXIT_SIGNAL);

    if (!(seen & (1U << KEY_PHASE)))
        return false;
    switch ((enum nm_launch_phase)v[KEY_PHASE]) {
    case NM_LAUNCH_WAITING:
        return true;
    case NM_LAUNCH_STARTED:
        return has(seen, started) && v[KEY_PID] > 0 && !(seen & (ended | failed | exited));
    case NM_LAUNCH_ENDED:
        if (!has(seen, ended))
            return false;
        if (seen & failed)
            return has(seen, failed) && v[KEY_FAILED_STAGE] != NM_LAUNCH_STAGE_NONE && !has_code &&
                   !has_signal;
        return has(seen, started) && v[KEY_PID] > 0 && has_code != has_signal &&
               (!has_signal || v[KEY_EXIT_SIGNAL] > 0);
    }
    return false;
}

int nm_launch_record_parse(const char *text, struct nm_launch_record *ret)
{
    uint64_t v[KEY_COUNT] = {0};
    unsigned seen;

    if (strncmp(text, HEAD, strlen(HEAD)) != 0)
        return -EBADMSG;
    if (parse_lines(text + strlen(HEAD), v, &seen) < 0 || !is_complete(v, seen))
        return -EBADMSG;
    *ret = (struct nm_launch_record){
        .phase = (enum nm_launch_phase)v[KEY_PHASE],
        .pid = (pid_t)v[KEY_PID],
        .started_usec = v[KEY_STARTED],
        .started_realtime_usec = v[KEY_STARTED_REALTIME],
        .ended_usec = v[KEY_ENDED],
        .ended_realtime_usec = v[KEY_ENDED_REALTIME],
        .failed_stage = (enum nm_launch_stage)v[KEY_FAILED_STAGE],
        .failed_errno = (int)v[KEY_FAILED_ERRNO],
        .exit_code = seen & (1U << KEY_EXIT_CODE) ? (int)v[KEY_EXIT_CODE] : -1,
        .exit_signal = (int)v[KEY_EXIT_SIGNAL],
        .max_rss_bytes = v[KEY_MAX_RSS],
        .oom_kills = v[KEY_OOM_KILLS],
        .memory_peak_bytes = v[KEY_MEMORY_PEAK],
        .ooms = seen & (1U << KEY_OOMS) ? v[KEY_OOMS] : NM_LAUNCH_OOMS_UNKNOWN,
        .output_max_bytes = v[KEY_OUTPUT_MAX],
        .output_lost_bytes = v[KEY_OUTPUT_LOST],
    };
    return 0;
}

/* Prints the fields of an ended command, except the times. */
static int print_end(const struct nm_launch_record *r, char *buf, size_t size)
{
    char ooms[32] = "";

    if (r->failed_stage != NM_LAUNCH_STAGE_NONE)
        return snprintf(buf, size, "failed_stage %s\nfailed_errno %d\n",
                        nm_launch_stage_name(r->failed_stage), r->failed_errno);
    if (r->ooms != NM_LAUNCH_OOMS_UNKNOWN)
        (void)snprintf(ooms, sizeof ooms, "ooms %" PRIu64 "\n", r->ooms);
    return snprintf(buf, size,
                    "exit_%s %d\nmax_rss_bytes %" PRIu64 "\noom_kills %" PRIu64
                    "\nmemory_peak_bytes %" PRIu64 "\noutput_lost_bytes %" PRIu64 "\n%s",
                    r->exit_signal > 0 ? "signal" : "code",
                    r->exit_signal > 0 ? r->exit_signal : r->exit_code, r->max_rss_bytes, r->oom_kills,
                    r->memory_peak_bytes, r->output_lost_bytes, ooms);
}

int nm_launch_record_print(const struct nm_launch_record *r, char *buf, size_t size)
{
    char started[160] = "", ended[96] = "", end[256] = "";
    int n;

    assert(r->phase <= NM_LAUNCH_ENDED && size > 0);
    if (r->pid > 0)
        (void)snprintf(started, sizeof started,
                       "pid %d\nstarted_usec %" PRIu64 "\nstarted_realtime_usec %" PRIu64
                       "\noutput_max_bytes %" PRIu64 "\n",
                       r->pid, r->started_usec, r->started_realtime_usec, r->output_max_bytes);
    if (r->phase == NM_LAUNCH_ENDED) {
        (void)snprintf(ended, sizeof ended,
                       "ended_usec %" PRIu64 "\nended_realtime_usec %" PRIu64 "\n", r->ended_usec,
                       r->ended_realtime_usec);
        (void)print_end(r, end, sizeof end);
    }
    n = snprintf(buf, size, HEAD "phase %s\n%s%s%s", phase_names[r->phase], started, ended, end);
    return n < 0 ? -EINVAL : (size_t)n >= size ? -E2BIG : 0;
}

int nm_launch_record_read(const char *container_dir, struct nm_launch_record *ret)
{
    _cleanup_close_ int fd = open(container_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char text[NM_LAUNCH_RECORD_SIZE];
    size_t len;
    int r;

    if (fd < 0)
        return -errno;
    r = nm_read_file_at(fd, NM_LAUNCH_RECORD_FILE, text, sizeof text, &len);
    if (r < 0)
        return r == -E2BIG ? -EBADMSG : r;
    return strlen(text) == len ? nm_launch_record_parse(text, ret) : -EBADMSG;
}
