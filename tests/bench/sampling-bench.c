/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Measures the cost of a sampling round. Makes real cgroups with live processes, samples them all, and prints CPU and
 * wall-clock time per round. The reference is the simple way on the same cgroups: open, read and close each file, and
 * /proc/PID/status of every process. A third row has the least that each sample must do: reading cpu.stat of every
 * container from open files without parsing, which is nearly all kernel time. The three run in turns, each after
 * new activity, because a reading reduces the kernel's work for the next one. Needs root and a cgroup2 mount; removes
 * everything that it makes.
 *
 *   sampling-bench [--rounds N] [--per-container N] [--busy USEC] [CONTAINERS...]
 *                  default: 30 rounds, 2 processes, 100 and 1000 containers
 *
 * Containers have two processes, since one is the shim. Between two rounds one process of each active container runs
 * and touches another page; first with one container in ten active, then with all. With --busy, it also uses this CPU
 * time: the samplers ignore very little CPU time.
 */

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cgroup/cgroup.h"
#include "monitor/monitor.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/macros.h"
#include "util/parse.h"

#define GOAL_USEC 10000 /* CPU per round at 1,000 containers */

struct bench {
    char dir[128];
    bool memory_controller, stall;
    unsigned n, per_container, rounds, busy_usec;
    struct nm_cgroup **cgroups;
    struct nm_cgroup_sampler **samplers;
    int *cpu_stats; /* cpu.stat of each container */
    int cpu_stat_fd, memory_stat_fd; /* files of dir, which stay open as nmd's slice files do */
    pid_t *pids;
    unsigned n_pids;
    struct shared *shared;
};

/* Shared with the processes of the containers. */
struct shared {
    _Atomic unsigned round; /* a futex: processes wake up when it changes */
    _Atomic unsigned done;  /* processes that have seen this round */
};

struct cost {
    uint64_t cpu_usec, wall_usec;
};

/* ---- the containers -------------------------------------------------------------------------- */

static const char *const roots[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};

static bool make_top(struct bench *b)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(roots); i++) {
        char file[160];

        (void)snprintf(file, sizeof file, "%s/cgroup.subtree_control", roots[i]);
        if (access(file, W_OK) < 0)
            continue;
        (void)nm_write_file_at(AT_FDCWD, file, "+memory +cpu"); /* fails if the controllers do not exist */
        (void)snprintf(b->dir, sizeof b->dir, "%s/nm-bench-%d", roots[i], (int)getpid());
        if (mkdir(b->dir, 0755) < 0)
            continue;
        (void)snprintf(file, sizeof file, "%s/cgroup.subtree_control", b->dir);
        (void)nm_write_file_at(AT_FDCWD, file, "+memory +cpu");
        return true;
    }
    return false;
}

static void use_cpu(unsigned usec)
{
    uint64_t until = nm_clock_usec(CLOCK_THREAD_CPUTIME_ID) + usec;

    while (usec > 0 && nm_clock_usec(CLOCK_THREAD_CPUTIME_ID) < until)
        ;
}

/* Runs the process of container i that becomes active. Its mapping has room for a page per round. */
static _Noreturn void live_active(const struct bench *b, unsigned i)
{
    const size_t pages = (size_t)b->rounds * 6;
    char *p = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned seen = 0;

    for (;;) {
        unsigned now = atomic_load(&b->shared->round);

        if (now == seen) {
            (void)syscall(SYS_futex, &b->shared->round, FUTEX_WAIT_BITSET, now, NULL, NULL,
                          i % 10 == 0 ? 3 : 1);
            continue;
        }
        seen = now;
        if (p != MAP_FAILED && seen < pages)
            p[(size_t)seen * 4096] = 1;
        use_cpu(b->busy_usec);
        atomic_fetch_add(&b->shared->done, 1);
    }
}

static _Noreturn void live(const struct bench *b, unsigned i, bool active)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (active)
        live_active(b, i);
    for (;;)
        pause();
}

/* Lets each active process run once, and waits until all of them have run. */
static void next_round(struct bench *b, unsigned every)
{
    const unsigned n = (b->n + every - 1) / every;
    const struct timespec tick = {.tv_nsec = 1000000};

    atomic_store(&b->shared->done, 0);
    atomic_fetch_add(&b->shared->round, 1);
    (void)syscall(SYS_futex, &b->shared->round, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL,
                  every == 1 ? 1 : 2);
    for (unsigned i = 0; i < 5000 && atomic_load(&b->shared->done) < n; i++)
        (void)nanosleep(&tick, NULL);
}

static int fill(struct bench *b, unsigned container)
{
    const struct nm_cgroup *cg = b->cgroups[container];

    for (unsigned i = 0; i < b->per_container; i++) {
        char text[16];
        pid_t pid = fork();

        if (pid < 0)
            return -errno;
        if (pid == 0)
            live(b, container, i == 0);
        b->pids[b->n_pids++] = pid;
        (void)snprintf(text, sizeof text, "%d", (int)pid);
        if (nm_write_file_at(cg->dir_fd, "cgroup.procs", text) < 0)
            return -EIO;
    }
    return 0;
}

/* Returns the process that does not become active. */
static pid_t shim_of(const struct bench *b, unsigned container)
{
    return b->per_container > 1 ? b->pids[container * b->per_container + 1] : 0;
}

/* Returns whether a container's cpu.pressure is read. Every second container is guaranteed; with cpu.idle, nmd's stall
 * guard reads cpu.pressure of guaranteed containers. */
static bool watches_stall(const struct bench *b, unsigned container)
{
    return container % 2 == 0 && faccessat(b->cgroups[container]->dir_fd, "cpu.idle", F_OK, 0) == 0;
}

static int make_containers(struct bench *b)
{
    for (unsigned i = 0; i < b->n; i++) {
        char name[32], path[192];
        int r;

        (void)snprintf(name, sizeof name, "c%u", i);
        (void)snprintf(path, sizeof path, "%s/%s", b->dir, name);
        if (mkdir(path, 0755) < 0)
            return -errno;
        r = nm_cgroup_open(path, name, &b->cgroups[i]);
        if (r >= 0)
            r = fill(b, i);
        if (r < 0)
            return r;
        if (i == 0)
            b->memory_controller = faccessat(b->cgroups[0]->dir_fd, "memory.stat", F_OK, 0) == 0;
        r = nm_cgroup_sampler_new(b->cgroups[i], b->memory_controller, "/proc", &b->samplers[i]);
        if (r < 0)
            return r;
        b->cpu_stats[i] = openat(b->cgroups[i]->dir_fd, "cpu.stat", O_RDONLY | O_CLOEXEC);
        nm_cgroup_sampler_set_shim(b->samplers[i], shim_of(b, i));
        if (!watches_stall(b, i))
            continue;
        r = nm_cgroup_sampler_watch_stall(b->samplers[i], b->cgroups[i], true);
        b->stall = r >= 0;
        if (r < 0 && r != -EOPNOTSUPP)
            return r;
    }
    return 0;
}

static void open_top(struct bench *b)
{
    char path[192];

    (void)snprintf(path, sizeof path, "%s/cpu.stat", b->dir);
    b->cpu_stat_fd = open(path, O_RDONLY | O_CLOEXEC);
    (void)snprintf(path, sizeof path, "%s/memory.stat", b->dir);
    b->memory_stat_fd = open(path, O_RDONLY | O_CLOEXEC);
}

static void remove_containers(struct bench *b)
{
    b->cpu_stat_fd = nm_close(b->cpu_stat_fd);
    b->memory_stat_fd = nm_close(b->memory_stat_fd);
    for (unsigned i = 0; i < b->n_pids; i++)
        (void)kill(b->pids[i], SIGKILL);
    for (unsigned i = 0; i < b->n_pids; i++)
        (void)waitpid(b->pids[i], NULL, 0);
    for (unsigned i = 0; i < b->n; i++) {
        b->samplers[i] = nm_cgroup_sampler_free(b->samplers[i]);
        b->cgroups[i] = nm_cgroup_free(b->cgroups[i]);
        b->cpu_stats[i] = nm_close(b->cpu_stats[i]);
    }
    for (unsigned i = 0; i < b->n; i++) {
        char path[192];

        (void)snprintf(path, sizeof path, "%s/c%u", b->dir, i);
        (void)rmdir(path);
    }
    if (rmdir(b->dir) < 0)
        perror(b->dir);
}

/* ---- the three methods ------------------------------------------------------------------------- */

static uint64_t sample_all(struct bench *b)
{
    uint64_t sum = 0, now = nm_now_usec();

    (void)nm_cgroup_collect(b->cpu_stat_fd);
    if (b->memory_stat_fd >= 0)
        (void)nm_cgroup_collect(b->memory_stat_fd);
    for (unsigned i = 0; i < b->n; i++) {
        struct nm_cgroup_sample c;

        if (nm_cgroup_sampler_sample(b->samplers[i], now, &c) == 0)
            sum += c.memory_bytes;
    }
    return sum;
}

static uint64_t value_of(const char *text, const char *key)
{
    const char *p = strstr(text, key);

    return p ? strtoull(p + strlen(key), NULL, 10) : 0;
}

static uint64_t naive_processes(int dir_fd)
{
    char list[65536], text[8192], path[64];
    uint64_t sum = 0;

    if (nm_read_file_at(dir_fd, "cgroup.procs", list, sizeof list, NULL) < 0)
        return 0;
    for (char *save = NULL, *pid = strtok_r(list, "\n", &save); pid;
         pid = strtok_r(NULL, "\n", &save)) {
        (void)snprintf(path, sizeof path, "/proc/%s/status", pid);
        if (nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) == 0)
            sum += (value_of(text, "\nRssAnon:") + value_of(text, "\nRssShmem:")) << 10;
    }
    return sum;
}

static uint64_t naive_all(struct bench *b)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < b->n; i++) {
        static const char *const files[] = {"memory.peak", "memory.events", "memory.swap.current"};
        char text[8192];
        int fd = b->cgroups[i]->dir_fd;

        (void)nm_read_file_at(fd, "cpu.stat", text, sizeof text, NULL);
        if (b->stall && i % 2 == 0)
            (void)nm_read_file_at(fd, "cpu.pressure", text, sizeof text, NULL);
        if (!b->memory_controller) {
            sum += naive_processes(fd);
            continue;
        }
        if (nm_read_file_at(fd, "memory.stat", text, sizeof text, NULL) == 0)
            sum += value_of(text, "anon ") + value_of(text, "\nshmem ") +
                   value_of(text, "\nkernel ");
        for (size_t k = 0; k < NM_ARRAY_SIZE(files); k++)
            (void)nm_read_file_at(fd, files[k], text, sizeof text, NULL);
    }
    return sum;
}

static uint64_t cpu_stat_all(struct bench *b)
{
    char text[1024];
    uint64_t sum = 0;

    (void)nm_cgroup_collect(b->cpu_stat_fd);
    for (unsigned i = 0; i < b->n; i++)
        sum += pread(b->cpu_stats[i], text, sizeof text, 0) > 0;
    return sum;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static struct cost measure(struct bench *b, uint64_t (*run)(struct bench *b), uint64_t *ret_sum)
{
    uint64_t cpu = nm_clock_usec(CLOCK_PROCESS_CPUTIME_ID), wall = nm_clock_usec(CLOCK_MONOTONIC);

    *ret_sum = run(b);
    return (struct cost){.cpu_usec = nm_clock_usec(CLOCK_PROCESS_CPUTIME_ID) - cpu,
                         .wall_usec = nm_clock_usec(CLOCK_MONOTONIC) - wall};
}

static int by_cpu(const void *a, const void *b)
{
    const struct cost *x = a, *y = b;

    return (x->cpu_usec > y->cpu_usec) - (x->cpu_usec < y->cpu_usec);
}

static void print_row(const struct bench *b, const char *what, struct cost *costs, uint64_t sum)
{
    const struct cost *best, *median, *worst;

    qsort(costs, b->rounds, sizeof *costs, by_cpu);
    best = &costs[0];
    median = &costs[b->rounds / 2];
    worst = &costs[b->rounds - 1];
    printf("%10u %10u  %-28s %8.2f %8.2f %8.2f %8.2f %10.1f\n", b->n, b->n_pids, what,
           (double)best->cpu_usec / 1e3, (double)median->cpu_usec / 1e3,
           (double)worst->cpu_usec / 1e3, (double)median->wall_usec / 1e3,
           (double)sum / (double)NM_MIB);
}

/* every: one container out of this number is active (1 or 10). */
static void compare(struct bench *b, unsigned every)
{
    _cleanup_free_ struct cost *ours = calloc(b->rounds, sizeof *ours);
    _cleanup_free_ struct cost *naive = calloc(b->rounds, sizeof *naive);
    _cleanup_free_ struct cost *least = calloc(b->rounds, sizeof *least);
    uint64_t our_sum = 0, naive_sum = 0, first;

    if (!ours || !naive || !least)
        return;
    (void)measure(b, sample_all, &first); /* the first sample opens files, so it is not representative */
    for (unsigned i = 0; i < b->rounds; i++) {
        next_round(b, every);
        ours[i] = measure(b, sample_all, &our_sum);
        next_round(b, every);
        naive[i] = measure(b, naive_all, &naive_sum);
        next_round(b, every);
        least[i] = measure(b, cpu_stat_all, &first);
    }
    printf("# one container in %u active, memory %s, %s\n", every,
           b->memory_controller ? "from memory.stat" : "from /proc",
           b->stall ? "stall of every second one from cpu.pressure" : "no stall, for there is no cpu.idle");
    print_row(b, "nmd's samplers", ours, our_sum);
    print_row(b, "reference: open, read, close", naive, naive_sum);
    print_row(b, "cpu.stat alone, not parsed", least, 0);
    if (b->n == 1000)
        printf("# goal at 1,000 containers, %.1f ms of CPU: %s\n", GOAL_USEC / 1e3,
               ours[b->rounds / 2].cpu_usec <= GOAL_USEC ? "met" : "NOT met");
    (void)fflush(stdout);
}

static int run(unsigned n, unsigned per_container, unsigned rounds, unsigned busy_usec)
{
    struct bench b = {.n = n, .per_container = per_container, .rounds = rounds, .busy_usec = busy_usec};
    int r;

    b.cgroups = calloc(n, sizeof(struct nm_cgroup *));
    b.samplers = calloc(n, sizeof(struct nm_cgroup_sampler *));
    b.cpu_stats = calloc(n, sizeof *b.cpu_stats);
    b.pids = calloc((size_t)n * per_container, sizeof *b.pids);
    b.shared =
        mmap(NULL, sizeof *b.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!b.cgroups || !b.samplers || !b.cpu_stats || !b.pids || b.shared == MAP_FAILED)
        return 1;
    if (!make_top(&b)) {
        fprintf(stderr,
                "sampling-bench: no cgroup2 mount where a cgroup may be made (needs root)\n");
        return 77;
    }
    open_top(&b);
    r = make_containers(&b);
    if (r < 0)
        fprintf(stderr, "sampling-bench: can't make %u containers: %s\n", n, strerror(-r));
    if (r >= 0) {
        compare(&b, 10);
        compare(&b, 1);
    }
    remove_containers(&b);
    free(b.cgroups);
    free(b.samplers);
    free(b.cpu_stats);
    free(b.pids);
    (void)munmap(b.shared, sizeof *b.shared);
    return r < 0;
}

static bool parse_count(const char *s, unsigned *ret)
{
    uint64_t v;

    if (nm_parse_u64(s, &v) < 0 || v < 1 || v > 100000) {
        fprintf(stderr, "sampling-bench: \"%s\" is not a number from 1 to 100000\n", s);
        return false;
    }
    *ret = (unsigned)v;
    return true;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"rounds", required_argument, NULL, 'r'},
        {"per-container", required_argument, NULL, 'p'},
        {"busy", required_argument, NULL, 'b'},
        {0},
    };
    unsigned rounds = 30, per_container = 2, busy_usec = 0, counts[16] = {100, 1000}, n_counts = 2;
    struct rlimit files;
    int r = 0, opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) >= 0)
        if (opt == '?' || !parse_count(optarg, opt == 'r' ? &rounds : opt == 'b' ? &busy_usec : &per_container))
            return 2;
    if (optind < argc)
        n_counts = 0;
    for (; optind < argc && n_counts < NM_ARRAY_SIZE(counts); optind++)
        if (!parse_count(argv[optind], &counts[n_counts++]))
            return 2;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    printf("%10s %10s  %-28s %8s %8s %8s %8s %10s\n", "containers", "processes",
           "per round, in ms", "CPU min", "CPU p50", "CPU max", "wall p50", "sum in MiB");
    (void)fflush(stdout);
    for (unsigned i = 0; i < n_counts && r == 0; i++)
        r = run(counts[i], per_container, rounds, busy_usec);
    return r;
}
