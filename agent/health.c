/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See health.h. One timer drives everything. At each tick the disks are checked and the script is started, unless the
 * last run is still in progress. Each change ends in update(), which writes the reason and calls the callback if the
 * set of problems has changed. A change of figures alone, such as the free space, is not reported.
 */

#include "agent/health.h"

#include <assert.h>
#include <sys/stat.h>
#include <time.h>

#include "agent/admin-script.h"
#include "monitor/monitor.h"
#include "util/log.h"

/* A file system that was too full must exceed the minimum by this factor before it counts as healthy again. Otherwise
 * logs that grow and are rotated at the threshold would turn admissions on and off. */
#define DISK_RECOVERY_FACTOR 1.1

enum { STATE_DIR, LOG_DIR, N_DIRS };

struct nm_health {
    sd_event *event;
    sd_event_source *timer;
    nm_health_cb_t cb;
    void *userdata;
    char *dir[N_DIRS];
    char *script_path; /* "" if no script is run */
    uint64_t period_usec, timeout_usec;
    double disk_min_free;

    bool disk_bad[N_DIRS];
    char disk_reason[N_DIRS][NM_HEALTH_REASON_SIZE];
    struct nm_admin_script *script;
    bool script_outdated; /* the running script belongs to an earlier configuration */
    bool script_unfinished; /* the script has not finished for the first time yet */
    char script_reason[NM_HEALTH_REASON_SIZE];
    char script_trouble[64]; /* the newest logged reason why the script could not be run or judged */
    unsigned unkillable;
    char journal_reason[NM_HEALTH_REASON_SIZE];

    char reported[2 * NM_HEALTH_REASON_SIZE]; /* the problems that were reported last, for comparison */
    char reason[NM_HEALTH_REASON_SIZE];
};

/* ---- summary ---- */

static void add(char *buf, size_t size, const char *text)
{
    size_t n = strlen(buf);

    assert(size > 0 && strlen(buf) < size);
    if (*text)
        (void)snprintf(buf + n, size - n, "%s%s", n ? "; " : "", text);
}

/* Summarizes all problems. notify: whether a change is reported by the callback; false in nm_health_new(), since the
 * manager is not ready for the callback yet. While the script has not finished for the first time, the node counts as
 * unhealthy, but no change is reported. A new nmd must not start containers on a node that the previous nmd had found
 * unhealthy. */
static void update(struct nm_health *h, bool notify)
{
    char identity[sizeof h->reported], unkillable[96] = "";

    if (h->unkillable > 0)
        (void)snprintf(unkillable, sizeof unkillable, "%u container%s can't be killed",
                       h->unkillable, h->unkillable == 1 ? "" : "s");
    h->reason[0] = '\0';
    if (h->script_unfinished)
        add(h->reason, sizeof h->reason, "the health script has not ended yet");
    add(h->reason, sizeof h->reason, h->script_reason);
    add(h->reason, sizeof h->reason, h->journal_reason);
    add(h->reason, sizeof h->reason, unkillable);
    for (int i = 0; i < N_DIRS; i++)
        add(h->reason, sizeof h->reason, h->disk_reason[i]);
    (void)snprintf(identity, sizeof identity, "%d%d%d|%u|%s", h->disk_bad[STATE_DIR],
                   h->disk_bad[LOG_DIR], h->journal_reason[0] != '\0', h->unkillable,
                   h->script_reason);
    if (nm_streq(identity, h->reported))
        return;
    memcpy(h->reported, identity, sizeof h->reported);
    if (notify)
        h->cb(!h->reason[0], h->reason, h->userdata);
}

/* ---- disks ---- */

/* If the directory does not exist yet, samples the file system on which it will be created. */
static int sample_existing(const char *dir, struct nm_disk_sample *ret)
{
    char path[4096];
    int r;

    if ((size_t)snprintf(path, sizeof path, "%s", dir) >= sizeof path)
        return -ENAMETOOLONG;
    for (;;) {
        char *slash;
        r = nm_disk_sample(path, ret);
        slash = strrchr(path, '/');
        if (r != -ENOENT || !slash || nm_streq(path, "/"))
            return r;
        slash[slash == path] = '\0';
    }
}

static bool on_same_file_system(const char *a, const char *b)
{
    struct stat sa, sb;

    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev;
}

static double share(uint64_t available, uint64_t total)
{
    assert(available <= total || total == 0);
    /* Some file systems (btrfs) have no fixed number of inodes and report 0. */
    return total == 0 ? 1 : (double)available / (double)total;
}

static void check_disk(struct nm_health *h, int i)
{
    double min = h->disk_min_free * (h->disk_bad[i] ? DISK_RECOVERY_FACTOR : 1), space, inodes;
    struct nm_disk_sample sample;
    int r;

    assert(i >= 0);
    h->disk_bad[i] = false;
    h->disk_reason[i][0] = '\0';
    if (h->disk_min_free <= 0)
        return;
    r = sample_existing(h->dir[i], &sample);
    if (r < 0) {
        h->disk_bad[i] = true;
        (void)snprintf(h->disk_reason[i], sizeof h->disk_reason[i], "%.100s: can't check the free space: %s",
                       h->dir[i], strerror(-r));
        return;
    }
    space = share(sample.available_bytes, sample.total_bytes);
    inodes = share(sample.available_inodes, sample.total_inodes);
    if (space >= min && inodes >= min)
        return;
    h->disk_bad[i] = true;
    (void)snprintf(h->disk_reason[i], sizeof h->disk_reason[i],
                   "only %.1f %% of the %s of the file system of %.80s are free, below the %g %% "
                   "of disk-min-free",
                   (space < min ? space : inodes) * 100, space < min ? "bytes" : "inodes",
                   h->dir[i], h->disk_min_free * 100);
}

static void check_disks(struct nm_health *h)
{
    check_disk(h, STATE_DIR);
    if (on_same_file_system(h->dir[STATE_DIR], h->dir[LOG_DIR])) {
        h->disk_bad[LOG_DIR] = false;
        h->disk_reason[LOG_DIR][0] = '\0';
    } else {
        check_disk(h, LOG_DIR);
    }
}

/* ---- the script ---- */

/* Logs a problem of the script once per kind of problem, not once per period. */
static void script_trouble(struct nm_health *h, const char *what)
{
    if (*what && !nm_streq(what, h->script_trouble))
        nm_warning("health script %s %s; this result is ignored and does not make the node unhealthy", h->script_path,
                   what);
    (void)snprintf(h->script_trouble, sizeof h->script_trouble, "%s", what);
}

static void on_verdict(const struct nm_script_verdict *v, void *userdata)
{
    struct nm_health *h = userdata;
    char what[64] = "";

    if (h->script_outdated) { /* start the new script before the period is over, but not beside the old one */
        if (v->has_ended) {
            (void)sd_event_source_set_time_relative(h->timer, 0);
            (void)sd_event_source_set_enabled(h->timer, SD_EVENT_ONESHOT);
        }
        return;
    }
    h->script_unfinished = false;
    h->script_reason[0] = '\0';
    if (v->timed_out)
        (void)snprintf(h->script_reason, sizeof h->script_reason,
                       "the health script did not end in time");
    else if (v->error[0])
        (void)snprintf(h->script_reason, sizeof h->script_reason, "the health script says: %s",
                       v->error);
    else if (v->exit_signal)
        (void)snprintf(what, sizeof what, "was killed by signal %d", v->exit_signal);
    else if (v->exit_code)
        (void)snprintf(what, sizeof what, "exited with status %d and printed no ERROR line",
                       v->exit_code);
    script_trouble(h, what);
    update(h, true);
}

static void start_script(struct nm_health *h)
{
    char what[64];
    int r;

    if (h->script && nm_admin_script_is_running(h->script))
        return;
    h->script = nm_admin_script_free(h->script);
    h->script_outdated = false;
    if (!*h->script_path) {
        h->script_unfinished = false;
        return;
    }
    r = nm_admin_script_new(h->event,
                            &(struct nm_admin_script_params){.path = h->script_path, .timeout_usec = h->timeout_usec,
                                                             .cb = on_verdict, .userdata = h}, &h->script);
    if (r >= 0)
        return;
    h->script_unfinished = false;
    h->script_reason[0] = '\0';
    (void)snprintf(what, sizeof what, "can't be run: %.40s",
                   r == -EPERM ? "users other than root can change it" : strerror(-r));
    script_trouble(h, what);
}

/* ---- life cycle ---- */

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_health *h = userdata;
    int r;

    (void)usec;
    check_disks(h);
    start_script(h);
    update(h, true);
    r = sd_event_source_set_time_relative(source, h->period_usec);
    if (r < 0)
        return r;
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int nm_health_reconfigure(struct nm_health *h, const struct nm_config *config)
{
    char *path = strdup(config->health_script ? config->health_script : "");
    int r;

    if (!path)
        return -ENOMEM;
    if (h->script_path && !nm_streq(path, h->script_path)) {
        h->script_reason[0] = h->script_trouble[0] = '\0';
        h->script_outdated = true;
    }
    free(h->script_path);
    h->script_path = path;
    h->period_usec = config->health_period_usec;
    h->timeout_usec = config->health_timeout_usec;
    h->disk_min_free = config->disk_min_free;
    r = sd_event_source_set_time_relative(h->timer, 0);
    if (r < 0)
        return r;
    return sd_event_source_set_enabled(h->timer, SD_EVENT_ONESHOT);
}

int nm_health_new(sd_event *event, const struct nm_config *config, const char *state_dir,
                  const char *log_dir, nm_health_cb_t cb, void *userdata, struct nm_health **ret)
{
    _cleanup_(nm_health_freep) struct nm_health *h = calloc(1, sizeof *h);
    int r;

    assert(event && config && state_dir);
    if (!h)
        return -ENOMEM;
    h->event = sd_event_ref(event);
    h->cb = cb;
    h->userdata = userdata;
    h->dir[STATE_DIR] = strdup(state_dir);
    h->dir[LOG_DIR] = strdup(log_dir);
    if (!h->dir[STATE_DIR] || !h->dir[LOG_DIR])
        return -ENOMEM;
    r = sd_event_add_time_relative(event, &h->timer, CLOCK_BOOTTIME, 0, 0, on_timer, h);
    if (r < 0)
        return r;
    (void)sd_event_source_set_description(h->timer, "health");
    r = nm_health_reconfigure(h, config);
    if (r < 0)
        return r;
    h->script_unfinished = *h->script_path != '\0';
    check_disks(h);
    update(h, false);
    *ret = STEAL_PTR(h);
    return 0;
}

void nm_health_set_unkillable(struct nm_health *h, unsigned n)
{
    h->unkillable = n;
    update(h, true);
}

void nm_health_set_journal(struct nm_health *h, const char *reason)
{
    assert(reason);
    (void)snprintf(h->journal_reason, sizeof h->journal_reason, "%s", reason);
    update(h, true);
}

bool nm_health_get(const struct nm_health *h, const char **ret_reason)
{
    assert(ret_reason);
    *ret_reason = h->reason;
    return !h->reason[0];
}

struct nm_health *nm_health_free(struct nm_health *h)
{
    if (!h)
        return NULL;
    h->timer = sd_event_source_disable_unref(h->timer);
    nm_admin_script_free(h->script);
    for (int i = 0; i < N_DIRS; i++)
        free(h->dir[i]);
    free(h->script_path);
    sd_event_unref(h->event);
    free(h);
    return NULL;
}
