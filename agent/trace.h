/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The format of traces, which `nmd --record` writes and nmsim reads: JSON, one object per line.
 *
 * The first line is the header: version, host, the node's size, its kernel's features, and the part
 * of the configuration that affects decisions. Each further line is an event with "t", microseconds
 * since the recording began, and "ev":
 *
 *   submit   a request: "c" (arrival number), "type", "memory", "cpu" (millicores), and, where present,
 *            "name", "app", "min_runtime", "expected", "exempt", "share" (nm_submit.cpu_is_share), "ran"
 *            (the container was already running, for this long). Synthetic traces also have "curve", rows
 *            of [time since its start, memory, millicores], and "run", its duration (without it, the
 *            container never ends). In recorded traces, samples and end events contain this information.
 *   refused  a refused request: "type", "memory", "cpu", "name", "reason"
 *   start    the container's command runs
 *   pause, resume
 *   kill     the container is being killed: its memory in later samples is not what it wants
 *   change   "type", "memory" and "cpu" are different from now on
 *   sample   the node: "memory" (total use), "cpu" (busy millicores; omitted if unknown),
 *            "swap_free"; "use", rows of [c, memory, millicores, total CPU time in usec]. A container without a row
 *            uses as much as in the previous sample.
 *   end      "reason", "memory" (the container's peak), "cpu_usec"
 *   stop     the recording was ended on purpose
 *
 * Numbers are integers. Strings need no escaping: they are words that nmd defines, or names that nm_name_is_valid()
 * accepts.
 *
 * Only nm_trace_reserve() grows the buffer. The other functions write into it and do not allocate,
 * because nmd calls them while it samples. A line that doesn't fit is omitted entirely.
 */

#include "agent/config/config.h"

#define NM_TRACE_VERSION 1
#define NM_TRACE_HOST_SIZE 65

struct nm_trace_header {
    char host[NM_TRACE_HOST_SIZE];
    uint64_t recorded_usec; /* CLOCK_REALTIME at t = 0; 0: a synthetic trace */
    uint64_t period_usec;   /* time between two samples */
    uint64_t memory_bytes, swap_bytes;
    uint32_t n_cpus;
    bool feature[NM_CGROUP_FEATURE_COUNT];
};

/* Writes the header line, including its newline. The caller frees *ret. */
int nm_trace_header_text(const struct nm_trace_header *h, const struct nm_config *c, char **ret);

/* Returns whether a section of the configuration affects decisions, and so belongs in the header. */
bool nm_trace_has_section(const char *section);

struct nm_trace_buffer {
    char *text;
    size_t len, size;
    size_t line;  /* where the current line begins */
    bool too_long; /* the current line doesn't fit */
};

/* Reserves space for a line of n rows after up to `filled` bytes of other lines. */
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

/* Begins the line of a new request. `ran_usec`: UINT64_MAX if the container has not started. The caller may add fields
 * and then ends the line. */
void nm_trace_begin_submit(struct nm_trace_buffer *b, uint64_t at_usec, const struct nm_policy_container *v,
                           const char *name, const char *app, uint64_t ran_usec);
