/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parses kernel text files, see parse.h. Nearly all of them are lists of "key value" (cgroup files) or "key:  value kB"
 * (/proc), so one table-driven scanner reads them: a table has the wanted keys and the member for each. The scanner
 * runs a thousand times per sampling round. So the scanner reads each byte once or twice, doesn't copy text, and parses
 * only the numbers of wanted keys.
 */

#include "monitor/parse.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "util/macros.h"
#include "util/parse.h"

struct field {
    const char *key;
    size_t key_len;
    size_t offset; /* offset of a uint64_t in the output struct */
    bool required;
};

#define FIELD(key, type, member, required) {key, sizeof(key) - 1, offsetof(type, member), required}

/* Parses an unsigned decimal number at *p and moves *p past it. Returns -EBADMSG if there is no number, as for other
 * unexpected text in a file. */
static int take_number(const char **p, uint64_t *ret)
{
    int r = nm_parse_digits(p, ret);

    return r == -EINVAL ? -EBADMSG : r;
}

/* Parses the value after a key up to the end of its line, "1234" or "1234 kB". */
static int take_value(const char *s, uint64_t *ret)
{
    uint64_t v;
    int r;

    while (*s == ' ' || *s == '\t' || *s == ':')
        s++;
    r = take_number(&s, &v);
    if (r < 0)
        return r;
    if (strncmp(s, " kB", 3) == 0) {
        if (__builtin_mul_overflow(v, UINT64_C(1024), &v))
            return -ERANGE;
        s += 3;
    }
    if (*s != '\n' && *s != '\0')
        return -EBADMSG;
    *ret = v;
    return 0;
}

static const struct field *find_field(const struct field *fields, size_t n, const char *key,
                                      size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (fields[i].key_len == len && memcmp(fields[i].key, key, len) == 0)
            return &fields[i];
    return NULL;
}

/* Scans text for the fields. Missing optional fields keep their value in `out`. */
static int parse_fields(const char *text, const struct field *fields, size_t n, void *out)
{
    unsigned found = 0;

    while (*text) {
        size_t len = strcspn(text, " \t:\n");
        const struct field *f = find_field(fields, n, text, len);
        const char *end;

        if (f) {
            uint64_t v;
            int r = take_value(text + len, &v);

            if (r < 0)
                return r;
            memcpy((char *)out + f->offset, &v, sizeof v);
            found |= 1u << (f - fields);
        }
        end = strchr(text + len, '\n');
        if (!end)
            break;
        text = end + 1;
    }
    for (size_t i = 0; i < n; i++)
        if (fields[i].required && !(found & 1u << i))
            return -EBADMSG;
    return 0;
}

int nm_monitor_parse_meminfo(const char *text, struct nm_meminfo *ret)
{
    static const struct field fields[] = {
        FIELD("MemTotal", struct nm_meminfo, memory_total_bytes, true),
        FIELD("MemAvailable", struct nm_meminfo, memory_available_bytes, true),
        FIELD("AnonPages", struct nm_meminfo, anon_bytes, false),
        FIELD("Shmem", struct nm_meminfo, shmem_bytes, false),
        /* without CONFIG_SWAP these lines are missing */
        FIELD("SwapTotal", struct nm_meminfo, swap_total_bytes, false),
        FIELD("SwapFree", struct nm_meminfo, swap_free_bytes, false),
        FIELD("Hugetlb", struct nm_meminfo, hugetlb_bytes, false), /* huge pages of all sizes */
    };
    struct nm_meminfo m = {0};
    int r = parse_fields(text, fields, NM_ARRAY_SIZE(fields), &m);

    assert(text && ret);
    if (r < 0)
        return r;
    *ret = m;
    return 0;
}

/* user nice system idle iowait irq softirq steal, then guest times, which user and nice include. */
static int take_cpu_line(const char *s, struct nm_cpu_ticks *t)
{
    enum { IDLE = 3, IOWAIT = 4, STEAL = 7 };
    uint64_t busy = 0, idle = 0;

    for (unsigned i = 0; i <= STEAL; i++) {
        uint64_t v;
        int r;

        while (*s == ' ')
            s++;
        r = take_number(&s, &v);
        if (r < 0)
            return r;
        if (i == IDLE || i == IOWAIT ? __builtin_add_overflow(idle, v, &idle)
                                     : __builtin_add_overflow(busy, v, &busy))
            return -ERANGE;
    }
    t->busy = busy;
    t->idle = idle;
    return 0;
}

int nm_monitor_parse_stat(const char *text, struct nm_cpu_ticks *ret)
{
    struct nm_cpu_ticks t = {0};
    int r;

    if (strncmp(text, "cpu ", 4) != 0)
        return -EBADMSG;
    r = take_cpu_line(text + 4, &t);
    if (r < 0)
        return r;
    /* One "cpuN" line for each online CPU follows immediately. */
    while ((text = strchr(text, '\n'))) {
        text++;
        if (strncmp(text, "cpu", 3) != 0 || text[3] < '0' || text[3] > '9')
            break;
        t.n_cpus++;
    }
    if (t.n_cpus == 0)
        return -EBADMSG;
    *ret = t;
    return 0;
}

int nm_monitor_parse_cpu_stat(const char *text, struct nm_cpu_stat *ret)
{
    static const struct field fields[] = {
        FIELD("usage_usec", struct nm_cpu_stat, usage_usec, true),
        FIELD("throttled_usec", struct nm_cpu_stat, throttled_usec, false),
    };
    struct nm_cpu_stat c = {0};
    int r = parse_fields(text, fields, NM_ARRAY_SIZE(fields), &c);

    if (r < 0)
        return r;
    *ret = c;
    return 0;
}

/* The fields of memory.stat. "kernel" came with Linux 5.18; before that its parts are summed. */
struct memory_stat_fields {
    struct nm_memory_stat stat;
    uint64_t kernel_stack, pagetables, percpu, slab_unreclaimable;
};

#define STAT_FIELD(key, member, required) FIELD(key, struct memory_stat_fields, member, required)

int nm_monitor_parse_memory_stat(const char *text, struct nm_memory_stat *ret)
{
    static const struct field fields[] = {
        STAT_FIELD("anon", stat.anon, true),
        STAT_FIELD("shmem", stat.shmem, true),
        STAT_FIELD("kernel", stat.kernel, false),
        STAT_FIELD("kernel_stack", kernel_stack, false),
        STAT_FIELD("pagetables", pagetables, false),
        STAT_FIELD("percpu", percpu, false),
        STAT_FIELD("slab_reclaimable", stat.slab_reclaimable, false),
        STAT_FIELD("slab_unreclaimable", slab_unreclaimable, false),
        STAT_FIELD("unevictable", stat.unevictable, true),
        STAT_FIELD("inactive_anon", stat.inactive_anon, true),
        STAT_FIELD("active_anon", stat.active_anon, true),
        STAT_FIELD("file_writeback", stat.file_writeback, false),
        STAT_FIELD("zswap", stat.zswap, false),
    };
    struct memory_stat_fields m = {.stat.kernel = UINT64_MAX};
    int r = parse_fields(text, fields, NM_ARRAY_SIZE(fields), &m);

    assert(text && ret);
    if (r < 0)
        return r;
    if (m.stat.kernel == UINT64_MAX) {
        if (__builtin_add_overflow(m.kernel_stack, m.pagetables, &m.stat.kernel) ||
            __builtin_add_overflow(m.stat.kernel, m.percpu, &m.stat.kernel) ||
            __builtin_add_overflow(m.stat.kernel, m.slab_unreclaimable, &m.stat.kernel) ||
            __builtin_add_overflow(m.stat.kernel, m.stat.slab_reclaimable, &m.stat.kernel))
            return -ERANGE;
    }
    *ret = m.stat;
    return 0;
}

/*
 * The "unevictable" list has all mlocked pages: anonymous memory and tmpfs as well as page cache. anon and shmem
 * already include locked anonymous memory and tmpfs, so adding the whole list would count this memory twice: a JVM or
 * database that locks its heap would appear twice as large, and be chosen as a victim.
 *
 * The kernel does not report how much of the list is anonymous memory and tmpfs, but this size follows from the other
 * lists: all swap-backed pages (anon + shmem) are on inactive_anon, active_anon or unevictable, so pages that are
 * missing on inactive_anon and active_anon are on unevictable. The counters are updated in batches and not at one
 * instant, hence the clamps.
 *
 * Pages being written to swap no longer count in anon, but they are on the lists and in memory until they are written,
 * which takes up to a minute on a slow disk. So these pages count as used. Other pages in the swap cache, read ahead or
 * already written, are nearly free.
 */
uint64_t nm_memory_stat_used_bytes(const struct nm_memory_stat *s)
{
    uint64_t swap_backed = nm_add_u64(s->anon, s->shmem);
    uint64_t evictable = nm_add_u64(s->inactive_anon, s->active_anon);
    uint64_t unevictable_cache = nm_sub_u64(s->unevictable, nm_sub_u64(swap_backed, evictable));
    uint64_t kernel = nm_sub_u64(s->kernel, s->slab_reclaimable);
    uint64_t leaving = NM_MIN(nm_sub_u64(evictable, swap_backed), s->file_writeback);

    return nm_add_u64(nm_add_u64(nm_add_u64(swap_backed, leaving), kernel), unevictable_cache);
}

int nm_monitor_parse_counter(const char *text, uint64_t *ret)
{
    uint64_t v;
    int r = take_number(&text, &v);

    if (r < 0)
        return r;
    if (*text == '\n')
        text++;
    if (*text)
        return -EBADMSG;
    *ret = v;
    return 0;
}

int nm_monitor_parse_statm(const char *text, struct nm_proc_statm *ret)
{
    uint64_t v[3]; /* size resident shared */

    assert(text && ret);
    for (size_t i = 0; i < NM_ARRAY_SIZE(v); i++) {
        int r = take_number(&text, &v[i]);

        if (r < 0)
            return r;
        if (*text++ != ' ')
            return -EBADMSG;
    }
    *ret = (struct nm_proc_statm){.resident_pages = v[1], .shared_pages = v[2]};
    return 0;
}

const char *const nm_monitor_status_lines[NM_MONITOR_N_STATUS_LINES] = {"VmRSS:", "RssAnon:", "RssShmem:", "VmSwap:",
                                                                        "Threads:"};

struct status_fields {
    struct nm_proc_memory memory;
    uint64_t resident, n_threads;
};

#define STATUS_FIELD(key, member, required) FIELD(key, struct status_fields, member, required)

/* The number of threads follows the memory lines in each process's file. If this number is present and the memory lines
 * are missing, the thread has no memory, and the text was not cut off. The file of the first thread is also the file of
 * the process. The first thread may end before the other threads: pthread_exit() in main(). */
int nm_monitor_parse_status(const char *text, struct nm_proc_memory *ret)
{
    static const struct field of_all[] = {
        STATUS_FIELD("VmRSS", resident, false),
        STATUS_FIELD("Threads", n_threads, true),
    };
    static const struct field of_memory[] = {
        STATUS_FIELD("RssAnon", memory.anon_bytes, true),
        STATUS_FIELD("RssShmem", memory.shmem_bytes, true),
        STATUS_FIELD("VmSwap", memory.swap_bytes, true),
    };
    struct status_fields s = {.resident = UINT64_MAX};
    int r = parse_fields(text, of_all, NM_ARRAY_SIZE(of_all), &s);

    if (r >= 0 && s.resident != UINT64_MAX)
        r = parse_fields(text, of_memory, NM_ARRAY_SIZE(of_memory), &s);
    if (r < 0)
        return r;
    if (s.resident == UINT64_MAX && s.n_threads > 1)
        return NM_MONITOR_THREAD_ENDED;
    *ret = s.memory;
    return 0;
}

int nm_monitor_parse_smaps_rollup(const char *text, struct nm_proc_memory *ret)
{
    /* Split by kind since Linux 5.4; without the split the file cannot be used here. */
    static const struct field fields[] = {
        FIELD("Pss_Anon", struct nm_proc_memory, anon_bytes, true),
        FIELD("Pss_Shmem", struct nm_proc_memory, shmem_bytes, true),
        FIELD("SwapPss", struct nm_proc_memory, swap_bytes, false),
    };
    struct nm_proc_memory m = {0};
    int r = parse_fields(text, fields, NM_ARRAY_SIZE(fields), &m);

    if (r < 0)
        return r;
    *ret = m;
    return 0;
}

int nm_monitor_parse_procs(const char *text, pid_t *pids, unsigned max, unsigned *ret_n,
                           unsigned *ret_total)
{
    unsigned n = 0, total = 0;

    assert(pids && ret_n && ret_total);
    while (*text) {
        uint64_t v;
        int r = take_number(&text, &v);

        if (r < 0)
            return r;
        if (v > INT_MAX)
            return -ERANGE;
        if (*text == '\n')
            text++;
        else if (*text)
            return -EBADMSG;
        if (v == 0)
            continue;
        if (n < max)
            pids[n++] = (pid_t)v;
        total++;
    }
    *ret_n = n;
    *ret_total = total;
    return 0;
}
