/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The samplers' parsers, kept apart from the reading of files so that tests and fuzzers call them directly. All parsers
 * are pure functions from NUL-terminated text to a plain struct. They return 0, -EBADMSG if a mandatory value is
 * missing or is not a number, or -ERANGE if a number does not fit. Outputs are untouched on failure. Unknown keys are
 * ignored, even if their values are not numbers, because kernels add lines over time.
 *
 * Only monitor/ and its tests include this header.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct nlmsghdr;

/* /proc/meminfo */
struct nm_meminfo {
    uint64_t memory_total_bytes, memory_available_bytes;
    uint64_t swap_total_bytes, swap_free_bytes;
    uint64_t anon_bytes, shmem_bytes, hugetlb_bytes; /* 0 if the lines are missing */
};
int nm_monitor_parse_meminfo(const char *text, struct nm_meminfo *ret);

/* /proc/stat; only its first lines are needed, so the text may be cut off anywhere after the cpu lines. In ticks,
 * summed over all CPUs. */
struct nm_cpu_ticks {
    uint64_t busy, idle;
    uint32_t n_cpus;
};
int nm_monitor_parse_stat(const char *text, struct nm_cpu_ticks *ret);

/* cpu.stat; throttled_usec exists only with the cpu controller. */
struct nm_cpu_stat {
    uint64_t usage_usec, throttled_usec;
};
int nm_monitor_parse_cpu_stat(const char *text, struct nm_cpu_stat *ret);

/* memory.stat, all in bytes. */
struct nm_memory_stat {
    uint64_t anon, shmem, kernel, slab_reclaimable;
    uint64_t unevictable, inactive_anon, active_anon;
    uint64_t file_writeback; /* pages being written to a disk: of files, and also to swap */
    uint64_t zswap; /* compressed size of swapped pages; part of `kernel` */
};
int nm_monitor_parse_memory_stat(const char *text, struct nm_memory_stat *ret);
/* Returns the memory that can only be freed by swapping or killing. Saturates instead of wrapping. */
uint64_t nm_memory_stat_used_bytes(const struct nm_memory_stat *stat);

/* Parses a file that holds one number: memory.peak, memory.swap.current. */
int nm_monitor_parse_counter(const char *text, uint64_t *ret);

/* /proc/PID/statm */
struct nm_proc_statm {
    uint64_t resident_pages;
    uint64_t shared_pages; /* file and shared memory among the resident pages; the rest is anonymous */
};
int nm_monitor_parse_statm(const char *text, struct nm_proc_statm *ret);

/* A process's memory without page cache: resident memory from /proc/PID/status, or its proportional share from
 * smaps_rollup. The parser of status needs only nm_monitor_status_lines. The status of a zombie has no memory lines:
 * all values are then zero. NM_MONITOR_THREAD_ENDED: the memory lines are missing because this thread has ended, the
 * status of each live thread of the process has them, and no values are returned. -EBADMSG: the lines may be missing
 * for another reason. */
struct nm_proc_memory {
    uint64_t anon_bytes, shmem_bytes, swap_bytes;
};
#define NM_MONITOR_N_STATUS_LINES 5
#define NM_MONITOR_THREAD_ENDED 1
extern const char *const nm_monitor_status_lines[NM_MONITOR_N_STATUS_LINES];
int nm_monitor_parse_status(const char *text, struct nm_proc_memory *ret);
int nm_monitor_parse_smaps_rollup(const char *text, struct nm_proc_memory *ret);

/* cgroup.procs: fills in up to max pids. Processes of a foreign PID namespace, which appear as 0, are left out.
 * *ret_total counts all listed processes and may exceed max. */
int nm_monitor_parse_procs(const char *text, pid_t *pids, unsigned max, unsigned *ret_n,
                           unsigned *ret_total);

/* One RTM_NEWLINK message. */
struct nm_link_message {
    char name[16];
    int ifindex;
    bool up, loopback;
    uint64_t rx_bytes, tx_bytes;
};
/* size: number of bytes received, which may differ from the length in the header. */
int nm_monitor_parse_link(const struct nlmsghdr *nlh, size_t size, struct nm_link_message *ret);

/* One RTM_NEWROUTE message, the answer to a route lookup: the links that the route uses. */
#define NM_ROUTE_LINKS_MAX 4
struct nm_route_message {
    int ifindex[NM_ROUTE_LINKS_MAX];
    unsigned n;
};
int nm_monitor_parse_route(const struct nlmsghdr *nlh, size_t size, struct nm_route_message *ret);
