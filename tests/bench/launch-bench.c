/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Measures the cost of a launch. Starts this program through real shims, one after the other, and prints the time from
 * nm_launch_new() to the command's first instruction beside that of a plain posix_spawn() of the same program, in
 * turns. Then prints a shim's memory, and the cost of journalling a change of state. Cgroups are not included: their
 * cost depends on the backend.
 *
 *   launch-bench [ROUNDS]   default: 200
 *
 * NMD_SHIM names the shim (default: ./nm-shim). Files are in /dev/shm if it exists: an ext4 in which many files were
 * just deleted is slow to create new ones, which would distort the figures.
 */

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/launch/launch.h"
#include "agent/store/store.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/parse.h"

#define GOAL_LAUNCH_USEC 5000
#define GOAL_SHIM_KIB 300

struct bench {
    char root[64];
    int shim;
    sd_event *event;
    struct nm_command command;
    bool started, ended;
    pid_t pid;
};

/* ---- helpers ----------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void print_times(const char *what, uint64_t *usec, size_t n)
{
    qsort(usec, n, sizeof *usec, by_value);
    printf("  %-44s p50 %6" PRIu64 " us   p99 %6" PRIu64 " us\n", what, usec[n / 2],
           usec[n * 99 / 100]);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void on_launch(struct nm_launch *l, enum nm_launch_phase phase,
                      const struct nm_launch_record *r, void *userdata)
{
    struct bench *b = userdata;

    (void)l;
    if (phase == NM_LAUNCH_STARTED) {
        b->started = true;
        b->pid = r->pid;
    } else
        b->ended = true;
}

/* ---- launches ---------------------------------------------------------------------------- */

static int start(struct bench *b, unsigned i, struct nm_launch **ret)
{
    char dir[128], logs[128];
    const struct nm_launch_params p = {
        .cgroup_fd = -EBADF,
        .shim_fd = b->shim,
        .container_dir = dir,
        .log_dir = logs,
        .container_id = "bench",
        .command = &b->command,
        .event = b->event,
    };

    b->started = b->ended = false;
    (void)snprintf(dir, sizeof dir, "%s/containers/%u", b->root, i);
    (void)snprintf(logs, sizeof logs, "%s/logs/%u", b->root, i);
    return nm_launch_new(&p, on_launch, b, ret);
}

static int run_until(struct bench *b, const bool *flag)
{
    while (!*flag) {
        int r = sd_event_run(b->event, 10 * NM_USEC_PER_SEC);

        if (r <= 0)
            return r < 0 ? r : -ETIMEDOUT;
    }
    return 0;
}

/* Returns the time of the command's first instruction, which the command has written to its stdout. */
static int read_first_instruction(const struct bench *b, unsigned i, uint64_t *ret)
{
    char path[128], text[32];
    int r;

    (void)snprintf(path, sizeof path, "%s/logs/%u/stdout", b->root, i);
    r = nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL);
    return r < 0 ? r : nm_parse_u64(text, ret);
}

static int launch_once(struct bench *b, unsigned i, uint64_t *ret_usec)
{
    _cleanup_(nm_launch_freep) struct nm_launch *l = NULL;
    uint64_t begin = nm_now_usec(), first;
    int r = start(b, i, &l);

    if (r >= 0)
        r = nm_launch_open_gate(l);
    if (r >= 0)
        r = run_until(b, &b->ended);
    if (r >= 0)
        r = read_first_instruction(b, i, &first);
    if (r >= 0)
        *ret_usec = first - begin;
    return r;
}

/* The reference: a launch without shim, user, directories and records. */
static int spawn_once(char *const *argv, uint64_t *ret_usec)
{
    char *env[] = {NULL}, text[32] = "";
    posix_spawn_file_actions_t actions;
    uint64_t begin = nm_now_usec(), first;
    int fds[2], r;
    pid_t pid;

    if (pipe(fds) < 0)
        return -errno;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    r = -posix_spawn(&pid, argv[0], &actions, NULL, argv, env);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(fds[1]);
    if (r == 0 && read(fds[0], text, sizeof text - 1) > 0)
        r = nm_parse_u64(text, &first);
    (void)close(fds[0]);
    if (r < 0)
        return r;
    (void)waitpid(pid, NULL, 0);
    *ret_usec = first - begin;
    return 0;
}

static int measure_launches(struct bench *b, size_t n)
{
    _cleanup_free_ uint64_t *launched = calloc(n, sizeof *launched);
    _cleanup_free_ uint64_t *spawned = calloc(n, sizeof *spawned);
    uint64_t begin = nm_now_usec(), took;

    if (!launched || !spawned)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        int r = launch_once(b, i, &launched[i]);

        if (r >= 0)
            r = spawn_once(b->command.argv, &spawned[i]);
        if (r < 0)
            return r;
    }
    took = nm_now_usec() - begin;
    printf("launch of a command, %zu times, one after the other\n", n);
    print_times("to its first instruction, through the shim", launched, n);
    print_times("reference: plain posix_spawn", spawned, n);
    printf("  %-44s %10.0f\n", "both, with their ends, per second", (double)n * 1e6 / (double)took);
    printf("  %-44s %10s (p50 at most %d us)\n", "goal",
           launched[n / 2] <= GOAL_LAUNCH_USEC ? "reached" : "missed", GOAL_LAUNCH_USEC);
    return 0;
}

/* ---- memory ------------------------------------------------------------------------------ */

static uint64_t private_kib(pid_t pid)
{
    char path[48], line[256];
    uint64_t sum = 0;
    unsigned long kib;

    (void)snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Private_%*[A-Za-z]: %lu kB", &kib) == 1)
            sum += kib;
    return sum;
}

/* Measures two shims, so that memory which shims share is not charged to one. */
static int measure_memory(struct bench *b)
{
    _cleanup_(nm_launch_freep) struct nm_launch *one = NULL, *two = NULL;
    char *argv[] = {(char *)"/bin/sleep", (char *)"600", NULL}, **saved = b->command.argv;
    pid_t pid = 0;
    uint64_t kib;
    int r;

    b->command.argv = argv;
    r = start(b, 1000000, &one);
    if (r >= 0)
        r = nm_launch_open_gate(one) ?: run_until(b, &b->started);
    pid = b->pid;
    if (r >= 0)
        r = start(b, 1000001, &two);
    if (r >= 0)
        r = nm_launch_open_gate(two) ?: run_until(b, &b->started);
    b->command.argv = saved;
    if (r < 0)
        return r;
    (void)usleep(50000); /* until memory needed only for the start is freed */
    kib = private_kib(nm_launch_shim_pid(one));
    printf("memory\n  %-44s %10" PRIu64 " KiB\n", "private memory of a shim", kib);
    printf("  %-44s %10s (at most %d KiB)\n", "goal", kib <= GOAL_SHIM_KIB ? "reached" : "missed",
           GOAL_SHIM_KIB);
    (void)kill(pid, SIGKILL);
    (void)kill(b->pid, SIGKILL);
    return 0;
}

/* ---- the journal ------------------------------------------------------------------------- */

static int measure_journal(struct bench *b, size_t n)
{
    _cleanup_(nm_store_freep) struct nm_store *s = NULL;
    _cleanup_free_ uint64_t *usec = calloc(n, sizeof *usec);
    struct nm_container c = {.owner = "local", .command = b->command};
    struct nm_store_opened opened;
    int r = usec ? nm_store_open(b->root, "boot", &s, &opened) : -ENOMEM;

    for (size_t i = 0; r >= 0 && i < n; i++) {
        uint64_t begin;

        (void)snprintf(c.id, sizeof c.id, "container_1_%06zu", i % 1000 + 1);
        c.view.seq = i % 1000 + 1;
        c.view.started_usec = i;
        begin = nm_clock_usec(CLOCK_MONOTONIC);
        r = nm_store_put_container(s, &c);
        usec[i] = nm_clock_usec(CLOCK_MONOTONIC) - begin;
    }
    if (r < 0)
        return r;
    printf("journal\n");
    print_times("a container's row, 1,000 of them, written", usec, n);
    return 0;
}

static int measure(struct bench *b, size_t n)
{
    int r = measure_launches(b, n);

    if (r >= 0)
        r = measure_memory(b);
    return r < 0 ? r : measure_journal(b, 20 * n);
}

int main(int argc, char **argv)
{
    static const char first[] = "--first-instruction";
    const struct passwd *pw = getpwuid(geteuid());
    char self[4096] = "", user[16], *command[] = {self, (char *)first, NULL}, *env[] = {NULL};
    struct bench b = {.shim = RET_NERRNO(open(getenv("NMD_SHIM") ?: "./nm-shim", O_PATH | O_CLOEXEC))};
    uint64_t n = 200;
    struct stat st;
    int r;

    if (argc > 1 && nm_streq(argv[1], first))
        return printf("%" PRIu64, nm_now_usec()) < 0;
    if (argc > 2 || (argc == 2 && (nm_parse_u64(argv[1], &n) < 0 || n == 0 || n > 100000))) {
        fprintf(stderr, "usage: launch-bench [ROUNDS]\n");
        return 2;
    }
    (void)snprintf(user, sizeof user, "%u", geteuid());
    b.command = (struct nm_command){
        .argv = command,
        .env = env,
        .workdir = (char *)"/",
        .user = pw ? pw->pw_name : user,
        .uid = geteuid(),
        .gid = getegid(),
        .no_new_privs = true,
    };
    (void)snprintf(b.root, sizeof b.root, "%s/nm-launch-bench-XXXXXX",
                   stat("/dev/shm", &st) == 0 ? "/dev/shm" : "/tmp");
    r = readlink("/proc/self/exe", self, sizeof self - 1) < 0 || !mkdtemp(b.root) ? -errno : 0;
    if (r >= 0)
        r = sd_event_new(&b.event);
    if (r >= 0)
        r = measure(&b, n);
    sd_event_unref(b.event);
    (void)nftw(b.root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (r < 0)
        fprintf(stderr, "launch-bench: %s\n", strerror(-r));
    return r < 0;
}
