/* SPDX-License-Identifier: Apache-2.0 */

/* See exit-code.h. */

#include "yarn/node/exit-code.h"

#include <signal.h>
#include <stdarg.h>
#include <time.h>

#include "util/utf8.h"
#include "yarn/node/node.h"

/* Returns true if the kernel's OOM killer killed the whole container, because the container reached its own limit or
 * because the node was out of memory. */
static bool killed_by_kernel_oom(const struct nm_container *c)
{
    return c->exit_reason == NM_EXIT_OOM && c->exit_cause == NM_REASON_KERNEL_OOM;
}

static int32_t own_code(const struct nm_container *c)
{
    return c->exit_code >= 0 ? c->exit_code : NM_YARN_INVALID;
}

int32_t nm_yarn_exit_code(const struct nm_container *c)
{
    switch (c->exit_reason) {
    case NM_EXIT_PREEMPTED:
    case NM_EXIT_PAUSE_DEADLINE:
    case NM_EXIT_SHED:
        return NM_YARN_KILLED_BY_NODE;
    case NM_EXIT_OOM:
        return killed_by_kernel_oom(c) ? NM_YARN_PREEMPTED : NM_YARN_OVER_MEMORY;
    case NM_EXIT_KILLED:
        return c->owner_code != 0 ? c->owner_code : NM_YARN_ABORTED;
    case NM_EXIT_DRAINED:
    case NM_EXIT_LOST:
    case NM_EXIT_STOPPED:
        return NM_YARN_ABORTED;
    case NM_EXIT_LOCALIZATION_FAILED:
        return c->owner_code != 0 ? c->owner_code : NM_YARN_INVALID;
    case NM_EXIT_NONE:
    case NM_EXIT_EXITED:
    case NM_EXIT_SIGNALED:
    case NM_EXIT_NOT_FOUND:
    case NM_EXIT_NOT_EXECUTABLE:
    case NM_EXIT_BAD_USER:
    case NM_EXIT_BAD_WORKDIR:
    case NM_EXIT_LAUNCH_FAILED:
    case NM_EXIT_REASON_COUNT:
        break;
    }
    return own_code(c);
}

bool nm_yarn_exit_is_failure(const struct nm_container *c)
{
    switch (c->exit_reason) {
    case NM_EXIT_EXITED:
        return c->exit_code != 0;
    case NM_EXIT_SIGNALED:
    case NM_EXIT_NOT_FOUND:
    case NM_EXIT_NOT_EXECUTABLE:
        return true;
    case NM_EXIT_OOM:
        return !killed_by_kernel_oom(c);
    default:
        return false;
    }
}

bool nm_yarn_exit_is_kill(const struct nm_container *c)
{
    switch (c->exit_reason) {
    case NM_EXIT_PREEMPTED:
    case NM_EXIT_PAUSE_DEADLINE:
    case NM_EXIT_SHED:
    case NM_EXIT_OOM:
    case NM_EXIT_KILLED:
    case NM_EXIT_DRAINED:
    case NM_EXIT_STOPPED:
        return true;
    default:
        return false;
    }
}

/* Returns true if this is the exit status of a command that SIGTERM or SIGKILL ended. */
static bool is_code_of_kill(int32_t code)
{
    return code == 128 + SIGTERM || code == 128 + SIGKILL;
}

bool nm_yarn_exit_is_external(const struct nm_container *c)
{
    switch (c->exit_reason) {
    case NM_EXIT_EXITED:
    case NM_EXIT_SIGNALED:
        return is_code_of_kill(c->exit_code);
    case NM_EXIT_KILLED:
        return c->owner_code == 128 + SIGKILL && c->exit_code == c->owner_code;
    default:
        return false;
    }
}

/* Formats a size such as "1.5 GB", as Hadoop prints it. */
static void print_size(uint64_t bytes, char *buf, size_t size)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    double v = (double)bytes;
    size_t i = 0;

    for (; v >= (i == 0 ? 1024 : 1023.95) && i + 1 < NM_ARRAY_SIZE(units); i++) /* never print 1024.0 */
        v /= 1024;
    (void)snprintf(buf, size, i == 0 ? "%.0f %s" : "%.1f %s", v, units[i]);
}

static void put_over_memory(const struct nm_container *c, FILE *out)
{
    uint64_t limit = c->view.request.memory_bytes, peak = NM_MAX(c->memory_peak_bytes, limit);
    char used[32], allowed[32];

    print_size(peak, used, sizeof used);
    print_size(limit, allowed, sizeof allowed);
    fprintf(out,
            "Container [pid=%d,containerID=%s] is running %lluB beyond the 'PHYSICAL' memory limit. Current usage: "
            "%s of %s physical memory used. Killing container. The kernel did so, in the container's own cgroup.\n",
            (int)c->pid, c->id, (unsigned long long)(peak - limit), used, allowed);
}

/* Explains an end that nmd decided. `nmctl explain` on the node shows the details. */
static void put_node_decision(const struct nm_container *c, FILE *out)
{
    bool caused = c->exit_cause != NM_REASON_NONE;

    fprintf(out,
            "Opportunistic container ended by the node: %s. Run nmctl explain %s on the node for the figures.\n",
            caused ? nm_reason_text(c->exit_cause) : nm_exit_reason_name(c->exit_reason), c->id);
}

static void put_reason(const struct nm_container *c, FILE *out)
{
    switch (c->exit_reason) {
    case NM_EXIT_PREEMPTED:
    case NM_EXIT_PAUSE_DEADLINE:
    case NM_EXIT_SHED:
        put_node_decision(c, out);
        return;
    case NM_EXIT_OOM:
        if (killed_by_kernel_oom(c))
            fputs("Container killed by the kernel because the node was out of memory.\n", out);
        else
            put_over_memory(c, out);
        return;
    case NM_EXIT_EXITED:
        break;
    case NM_EXIT_KILLED:
    case NM_EXIT_LOCALIZATION_FAILED:
        if (!*c->message)
            fprintf(out, "Container %s on the node.\n", nm_exit_reason_name(c->exit_reason));
        break;
    case NM_EXIT_SIGNALED:
        fputs("Container killed by a signal that the NodeManager did not send.\n", out);
        break;
    default:
        fprintf(out, "The container ended on the node: %s.\n", nm_exit_reason_name(c->exit_reason));
    }
    if (*c->message)
        fprintf(out, "%s\n", c->message);
}

void nm_yarn_put_time(uint64_t realtime_usec, FILE *out)
{
    time_t sec = (time_t)(realtime_usec / NM_USEC_PER_SEC);
    char text[32];
    struct tm tm;

    if (localtime_r(&sec, &tm) && strftime(text, sizeof text, "%F %T", &tm) > 0)
        fprintf(out, "[%s.%03u]", text, (unsigned)(realtime_usec / 1000 % 1000));
}

/* Hadoop adds the first line also if the cluster did not request the end. */
static void put_code(const struct nm_container *c, FILE *out)
{
    if (is_code_of_kill(c->exit_code)) {
        nm_yarn_put_time(c->finished_realtime_usec, out);
        fprintf(out, "Container killed on request. Exit code is %d\n", c->exit_code);
    }
    nm_yarn_put_time(c->finished_realtime_usec, out);
    fprintf(out, "Container exited with a non-zero exit code %d.\n", c->exit_code);
}

static void put_all(const struct nm_container *c, const char *output_tail, FILE *out)
{
    if (nm_yarn_exit_is_external(c)) {
        put_code(c, out);
        nm_yarn_put_time(c->finished_realtime_usec, out);
        fputs("Killed by external signal\n", out);
        return;
    }
    if (c->exit_reason != NM_EXIT_EXITED || *c->message) {
        nm_yarn_put_time(c->finished_realtime_usec, out);
        put_reason(c, out);
    }
    if (c->exit_code > 0)
        put_code(c, out);
    fputs(output_tail, out);
}

const char *nm_yarn_exit_text(const struct nm_container *c, const char *output_tail, struct nm_arena *arena)
{
    _cleanup_free_ char *text = NULL;
    size_t size = 0;
    FILE *out;

    if (c->exit_reason == NM_EXIT_EXITED && c->exit_code == 0)
        return "";
    out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    put_all(c, output_tail, out);
    if (fclose(out) != 0)
        return NULL;
    if (size > NM_YARN_DIAGNOSTICS_MAX)
        text[NM_YARN_DIAGNOSTICS_MAX] = '\0'; /* the next line removes a character that was cut */
    size = nm_utf8_prefix(text);
    return nm_arena_text(arena, (struct nm_bytes){(const uint8_t *)text, size});
}
