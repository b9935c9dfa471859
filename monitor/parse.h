/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The samplers' parsers, kept apart from the reading of files so that tests and fuzzers call them
 * directly. All are pure: NUL-terminated text in, plain struct out. They return 0; -EBADMSG when
 * something that must be there isn't or can't be read as a number; or -ERANGE when a number doesn't
 * fit. Outputs are untouched on failure. Keys that a parser doesn't know are ignored whatever their
 * value: kernels add lines all the time.
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
    uint64_t anon_bytes, shmem_bytes, hugetlb_bytes; /* 0 where there are no such lines */
};
int nm_monitor_parse_meminfo(const char *text, struct nm_meminfo *ret);

/* /proc/stat, of which the first lines are enough: the text may be cut off anywhere after the cpu
 * lines. In ticks, summed over all CPUs. */
struct nm_cpu_ticks {
    uint64_t busy, idle;
    uint32_t n_cpus;
};
int nm_monitor_parse_stat(const char *text, struct nm_cpu_ticks *ret);

/* cpu.stat; throttled_usec is there only with the cpu controller. */
struct nm_cpu_stat {
    uint64_t usage_usec, throttled_usec;
};
int nm_monitor_parse_cpu_stat(const char *text, struct nm_cpu_stat *ret);

/* memory.stat, all in bytes. */
struct nm_memory_stat {
    uint64_t anon, shmem, kernel, slab_reclaimable;
    uint64_t unevictable, inactive_anon, active_anon;
    uint64_t file_writeback; /* pages on their way to a disk: of files, and to swap as well */
    uint64_t zswap; /* what swapped pages take compressed; part of `kernel` */
};
int nm_monitor_parse_memory_stat(const char *text, struct nm_memory_stat *ret);
/* The memory that can't be had back without swapping or killing. Saturates instead of wrapping. */
uint64_t nm_memory_stat_used_bytes(const struct nm_memory_stat *stat);

/* A file that holds one number: memory.peak, memory.swap.current. */
int nm_monitor_parse_counter(const char *text, uint64_t *ret);

/* /proc/PID/statm */
struct nm_proc_statm {
    uint64_t resident_pages;
    uint64_t shared_pages; /* of those, file and shared memory: the rest is anonymous */
};
int nm_monitor_parse_statm(const char *text, struct nm_proc_statm *ret);

/* What of a process' memory is no page cache: from /proc/PID/status as resident in it, or from
 * smaps_rollup as its proportional share. All zero for a zombie, whose status has no such lines;
 * -EBADMSG when they may be missing for another reason. Of status these lines are enough.
 * NM_MONITOR_THREAD_ENDED: they are missing because this thread has ended, but others of the process have not, and the
 * status of each of these has them; nothing is returned. */
struct nm_proc_memory {
    uint64_t anon_bytes, shmem_bytes, swap_bytes;
};
#define NM_MONITOR_N_STATUS_LINES 5
#define NM_MONITOR_THREAD_ENDED 1
extern const char *const nm_monitor_status_lines[NM_MONITOR_N_STATUS_LINES];
int nm_monitor_parse_status(const char *text, struct nm_proc_memory *ret);
int nm_monitor_parse_smaps_rollup(const char *text, struct nm_proc_memory *ret);

/* cgroup.procs: fills up to max pids. Processes of a foreign PID namespace, which read as 0, are
 * left out. *ret_total counts all that were listed (may exceed max). */
int nm_monitor_parse_procs(const char *text, pid_t *pids, unsigned max, unsigned *ret_n,
                           unsigned *ret_total);

/* One RTM_NEWLINK message. */
struct nm_link_message {
    char name[16];
    int ifindex;
    bool up, loopback;
    uint64_t rx_bytes, tx_bytes;
};
/* size: bytes that are really there, whatever the header claims. */
int nm_monitor_parse_link(const struct nlmsghdr *nlh, size_t size, struct nm_link_message *ret);

/* One RTM_NEWROUTE message, the answer to a route lookup: the links it leads over. */
#define NM_ROUTE_LINKS_MAX 4
struct nm_route_message {
    int ifindex[NM_ROUTE_LINKS_MAX];
    unsigned n;
};
int nm_monitor_parse_route(const struct nlmsghdr *nlh, size_t size, struct nm_route_message *ret);
