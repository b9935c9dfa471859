/* SPDX-License-Identifier: Apache-2.0 */

/* See inherited.h. Uses raw system calls where the C library has no function or modifies the arguments. */

#include "util/inherited.h"

#include <linux/ioprio.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "util/become.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/macros.h"

#define USUAL_SLACK_NSEC 50000UL
#define USUAL_DUMP_FILTER "0x33"
#define CPUS_MAX 8192 /* the largest CONFIG_NR_CPUS */
#define SET_MEMORY_MERGE 67 /* PR_SET_MEMORY_MERGE of Linux 6.4 */

/* Uses the raw system call because sigaction() rejects libc's internal signals (32 and 33), which some parents that
 * use posix_spawn() leave ignored. */
void nm_inherited_reset_dispositions(void)
{
    /* all zero and at least as large as any kernel's struct sigaction: SIG_DFL, no flags, empty mask */
    const unsigned long usual[8] = {0};

    for (int i = 1; i < _NSIG; i++)
        (void)syscall(SYS_rt_sigaction, i, usual, NULL, _NSIG / 8);
}

static void reset_mask(void)
{
    const unsigned long none[_NSIG / 8 / sizeof(unsigned long)] = {0};

    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL, _NSIG / 8);
}

void nm_inherited_reset_signals(void)
{
    nm_inherited_reset_dispositions();
    reset_mask();
}

void nm_inherited_keep_children(void)
{
    (void)signal(SIGCHLD, SIG_DFL);
}

/* Fills the set by hand, because glibc's sigfillset() omits the signals that glibc uses itself (32 and 33).
 * posix_spawn() would leave these two signals ignored if the parent ignores them. */
int nm_inherited_spawn_signals(posix_spawnattr_t *attributes, short other_flags)
{
    sigset_t none, all;
    int r;

    (void)sigemptyset(&none);
    memset(&all, 0xff, sizeof all);
    (void)sigdelset(&all, SIGKILL);
    (void)sigdelset(&all, SIGSTOP);
    r = posix_spawnattr_setsigmask(attributes, &none);
    if (r == 0)
        r = posix_spawnattr_setsigdefault(attributes, &all);
    if (r == 0)
        r = posix_spawnattr_setflags(attributes,
                                     (short)(other_flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    return -r;
}

void nm_inherited_end_with(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
        _exit(EXIT_FAILURE);
}

/* Sets all CPUs; the kernel removes the CPUs that the cpuset cgroup doesn't include. */
static void reset_affinity(void)
{
    unsigned char all[CPUS_MAX / 8];

    memset(all, 0xff, sizeof all);
    (void)syscall(SYS_sched_setaffinity, 0, sizeof all, all);
}

static void reset_numa(void)
{
    (void)syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
}

static void reset_io_class(void)
{
    (void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_NONE, 0));
}

/* The struct of sched_setattr(2), defined here because <linux/sched/types.h> conflicts with <sched.h>. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_nsec, deadline_nsec, period_nsec;
};

/* Sets the default policy. A runtime of 0 selects the kernel's default time slice (Linux 6.12); older kernels ignore
 * it. */
static void reset_policy(void)
{
    struct attributes usual = {
        .size = sizeof usual, .policy = SCHED_OTHER, .nice = getpriority(PRIO_PROCESS, 0)};
    const struct sched_param zero = {0};

    if (syscall(SYS_sched_setattr, 0, &usual, 0U) < 0)
        (void)sched_setscheduler(0, SCHED_OTHER, &zero);
}

static void reset_nice(void)
{
    (void)setpriority(PRIO_PROCESS, 0, 0);
}

static void reset_timers(void)
{
    const struct itimerval off = {};

    (void)setitimer(ITIMER_REAL, &off, NULL);
    (void)setitimer(ITIMER_VIRTUAL, &off, NULL);
    (void)setitimer(ITIMER_PROF, &off, NULL);
}

static void reset_securebits(void)
{
    (void)prctl(PR_SET_SECUREBITS, 0UL, 0, 0, 0);
}

static void reset_ambient(void)
{
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

static void reset_personality(void)
{
    (void)personality(PER_LINUX);
}

/* Sets the slack explicitly, because 0 would restore the value that this thread was created with. */
static void reset_slack(void)
{
    (void)prctl(PR_SET_TIMERSLACK, USUAL_SLACK_NSEC, 0, 0, 0);
}

static void reset_subreaper(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0UL, 0, 0, 0);
}

static void reset_huge_pages(void)
{
    (void)prctl(PR_SET_THP_DISABLE, 0UL, 0, 0, 0);
}

/* Disables KSM for this process and its children, whose pages would otherwise be compared and shared with pages of
 * other processes. */
static void reset_merging(void)
{
    (void)prctl(SET_MEMORY_MERGE, 0UL, 0, 0, 0);
}

static void reset_machine_checks(void)
{
    (void)prctl(PR_MCE_KILL, PR_MCE_KILL_CLEAR, 0, 0, 0);
}

static void reset_io_flusher(void)
{
    (void)prctl(PR_SET_IO_FLUSHER, 0UL, 0, 0, 0);
}

static void reset_dump_filter(void)
{
    (void)nm_write_file_at(AT_FDCWD, "/proc/self/coredump_filter", USUAL_DUMP_FILTER);
}

/* Opens the missing standard descriptors, because the first files opened would otherwise get their numbers. */
static void fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY); /* open() returns the lowest free
                                                                                  number */
}

#define AS_NMD "as nmd"

const struct nm_inherited nm_inherited_table[] = {
    {"signal dispositions", nm_inherited_reset_dispositions, "default, except that SIGPIPE and SIGXFSZ are ignored",
     "default, then their own", "default"},
    {"signal mask", reset_mask, "empty, except the signals that its event loop reads",
     "empty; nm-shim and nm-spawner: all blocked", "empty"},
    {"interval timers", reset_timers, "off", "off, since fork clears them", "off"},
    {"CPU affinity", reset_affinity, "all CPUs of its cpuset", AS_NMD, "all CPUs of their cpuset"},
    {"NUMA policy", reset_numa, "default", AS_NMD, "default"},
    {"I/O class", reset_io_class, "none", AS_NMD, "none"},
    {"scheduling policy", reset_policy, "SCHED_OTHER, with the kernel's time slice", AS_NMD,
     "SCHED_OTHER, or SCHED_IDLE by their type"},
    {"nice", reset_nice, "-10", "0; nm-shuffle without a CPU weight: 10; nm-spawner: as nmd", "0"},
    {"OOM score", NULL, "as started", "their own", "by their type"},
    {"resource limits", NULL, "as started, open files raised to the hard limit",
     "as nmd; nm-localizer: its own limits of open files and memory",
     "as nmd was started, open files 1024"},
    {"umask", NULL, "077", "077", "022"},
    {"supplementary groups", NULL, "as started", "nm-localizer and nm-shuffle: those of their user; others as nmd",
     "those of their user"},
    {"ambient capabilities", reset_ambient, "none", "none", "none"},
    {"other capabilities", NULL, "as started", "at most those that they need; health script as nmd",
     "none, or root's; none inheritable"},
    {"securebits", reset_securebits, "0, unless locked", AS_NMD, AS_NMD},
    {"no_new_privs", NULL, "as started, since it cannot be cleared", "set; health script as nmd",
     "set, unless the container may gain new privileges"},
    {"session keyring", nm_become_own_keyring, "a new one",
     "a new one for nm-localizer and nm-shuffle as users; others as nmd",
     "a new one for each if nmd runs as root; otherwise as nmd"},
    {"personality", reset_personality, "PER_LINUX", AS_NMD, "PER_LINUX"},
    {"timer slack", reset_slack, "50 us", AS_NMD, "50 us"},
    {"subreaper", reset_subreaper, "no", "no; nm-shim: yes", "no"},
    {"huge pages switched off", reset_huge_pages, "no", AS_NMD, "no"},
    {"memory merging", reset_merging, "no", AS_NMD, "no"},
    {"machine check policy", reset_machine_checks, "the host's", AS_NMD, "the host's"},
    {"I/O flusher", reset_io_flusher, "no", AS_NMD, "no"},
    {"memory-deny-write-execute, speculation, Landlock, core scheduling", NULL,
     "as started, since it cannot be cleared", AS_NMD, AS_NMD},
    {"audit user and session, security label", NULL, "as started", AS_NMD, AS_NMD},
    {"core dump filter", reset_dump_filter, USUAL_DUMP_FILTER, AS_NMD, USUAL_DUMP_FILTER},
    {"standard descriptors", fill_standard_descriptors, "as started, /dev/null where closed", "their own",
     "their logs, input or terminal"},
    {"other descriptors", NULL, "as started; nmd uses those of LISTEN_FDS", "closed", "closed"},
    {"environment", NULL, "as started", "a fixed one", "the requested variables and those of the user"},
    {"parent-death signal", NULL, "as started",
     "SIGKILL for nm-localizer, nm-shuffle, nm-spawner and forks of nmd; none for nm-shim and the health script",
     "SIGKILL"},
    {"working directory", NULL, "as started", "/", "the requested one"},
    {"root directory, namespaces, seccomp filters", NULL, "as started", AS_NMD,
     "as nmd; confined commands have user, mount and IPC namespaces of their own"},
    {"session", NULL, "as started", "one of their own; nm-spawner: as nmd", "one of their own"},
};
const size_t nm_inherited_rows = NM_ARRAY_SIZE(nm_inherited_table);

void nm_inherited_reset(void)
{
    for (size_t i = 0; i < nm_inherited_rows; i++)
        if (nm_inherited_table[i].reset)
            nm_inherited_table[i].reset();
}

/* Prints text with escaped dashes, because roff prints a plain '-' as a hyphen. */
static void print_text(FILE *f, const char *text)
{
    for (; *text; text++)
        (void)(*text == '-' ? fputs("\\-", f) : fputc(*text, f));
}

int nm_inherited_print_man(FILE *f)
{
    for (size_t i = 0; i < nm_inherited_rows; i++) {
        const struct nm_inherited *row = &nm_inherited_table[i];
        const char *const parts[] = {".TP\n.B ",  row->name,     "\nnmd: ",      row->nmd, ".\nHelpers: ",
                                     row->helpers, ".\nCommands: ", row->commands, ".\n"};

        for (size_t k = 0; k < NM_ARRAY_SIZE(parts); k++)
            print_text(f, parts[k]);
    }
    return ferror(f) ? -EIO : 0;
}
