/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The format of traces: what `nmd --record` writes and nmsim reads. JSON, one object a line.
 *
 * The first line is the header: version, host, the node's size, what its kernel can do, and the
 * part of the configuration that decides. Each further line is an event with "t", microseconds
 * since the recording began, and "ev":
 *
 *   submit   a request: "c" (arrival number), "type", "memory", "cpu" (millicores), and, where there
 *            are any, "name", "app", "min_runtime", "expected", "exempt", "share" (nm_submit.cpu_is_share);
 *            "ran" (it runs already, and for so long). In made-up traces also "curve", rows of [time since its start,
 *            memory, millicores], and "run", how long it takes (else it never ends): what samples
 *            and ends tell in recorded ones.
 *   refused  a request that was not taken: "type", "memory", "cpu", "name", "reason"
 *   start    its command runs
 *   pause, resume
 *   change   "type", "memory" and "cpu" are different from now on
 *   sample   the node: "memory" (all that is used), "cpu" (busy millicores; left out where it isn't
 *            known), "swap_free"; "use", rows of [c, memory, millicores, CPU time so far in usec].
 *            Who is not in a row uses what it used before.
 *   end      "reason", "memory" (its peak), "cpu_usec"
 *   stop     the recording was ended on purpose
 *
 * Numbers are whole. Words need no escaping: they are nmd's own, or names (nm_name_is_valid()).
 *
 * The buffer is grown by nm_trace_reserve() alone; the other functions write into it and allocate
 * nothing, for nmd calls them while it samples. A line that doesn't fit is left out whole.
 */

#include "agent/config/config.h"

#define NM_TRACE_VERSION 1
#define NM_TRACE_HOST_SIZE 65

struct nm_trace_header {
    char host[NM_TRACE_HOST_SIZE];
    uint64_t recorded_usec; /* CLOCK_REALTIME at t = 0; 0: made up */
    uint64_t period_usec;   /* between two samples */
    uint64_t memory_bytes, swap_bytes;
    uint32_t n_cpus;
    bool feature[NM_CGROUP_FEATURE_COUNT];
};

/* A line for people and programs, with its newline; the caller's to free. */
int nm_trace_header_text(const struct nm_trace_header *h, const struct nm_config *c, char **ret);

/* Does this section decide anything? The others are nobody's business. */
bool nm_trace_has_section(const char *section);

struct nm_trace_buffer {
    char *text;
    size_t len, size;
    size_t line;  /* where the line begins that is being written */
    bool too_long; /* it doesn't fit */
};

/* Room for a line of n rows behind up to `filled` bytes of other lines. */
int nm_trace_reserve(struct nm_trace_buffer *b, size_t filled, size_t n_rows);
void nm_trace_buffer_done(struct nm_trace_buffer *b);

void nm_trace_begin(struct nm_trace_buffer *b, uint64_t at_usec, const char *event);
void nm_trace_put(struct nm_trace_buffer *b, const char *name, uint64_t number);
void nm_trace_put_word(struct nm_trace_buffer *b, const char *name, const char *word);
void nm_trace_put_flag(struct nm_trace_buffer *b, const char *name);
void nm_trace_begin_rows(struct nm_trace_buffer *b, const char *name);
void nm_trace_put_row(struct nm_trace_buffer *b, const uint64_t *numbers, size_t n);
void nm_trace_end_rows(struct nm_trace_buffer *b);
void nm_trace_end(struct nm_trace_buffer *b);

/* The line of a new request. `ran_usec`: UINT64_MAX for one that has not started. The line is left
 * open for more. */
void nm_trace_begin_submit(struct nm_trace_buffer *b, uint64_t at_usec, const struct nm_policy_container *v,
                           const char *name, const char *app, uint64_t ran_usec);
