/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The limits of the slice. memory.max is the capacity, which the kernel enforces even if nmd is dead. memory.low is the
 * sum of the guaranteed containers' claims. Without memory.low of the slice, memory.low of a container protects it only
 * against other containers, and a process outside of the slice could take all memory of guaranteed containers.
 */

#include "agent/node/node-slice.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "agent/message-ids.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/parse.h"

#define NOTE_NAME "slice-low"
#define LINE "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n"

#define STEP_SHARE 32
#define STEP_MIN_BYTES (UINT64_C(8) << 20)
#define CLAIM_HOLD_USEC (60 * NM_USEC_PER_SEC)

struct nm_slice *nm_slice_new(void)
{
    return calloc(1, sizeof(struct nm_slice));
}

struct nm_slice *nm_slice_free(struct nm_slice *s)
{
    free(s);
    return NULL;
}

/*
 * ---- who has set memory.low --------------------------------------------------------------------
 *
 * nmd sets the slice's memory.low, but never below a value that an administrator has set. The file memory.low does not
 * show who wrote the value. A value that nmd has requested may appear late or again, for two reasons. First, systemd
 * keeps requested values in /run and applies them to a slice that is recreated. Second, an nmd that died may have
 * requested another value just before. So nmd writes its latest four values to a file beside its socket before it
 * requests them. That file is in /run, too, and so exists exactly as long as systemd's values.
 *
 * Limitation: if an administrator sets a value that equals one of nmd's latest requests, the administrator's value is
 * not recognized.
 */

/* Compares present_bytes, the present value of memory.low, with the noted values. Returns true if present_bytes differs
 * from each noted value: an administrator has set memory.low. In this case own_bytes becomes present_bytes. */
static bool compare_note(struct nm_slice_note *n, uint64_t present_bytes)
{
    if (present_bytes == n->own_bytes)
        return false;
    for (size_t i = 0; i < NM_ARRAY_SIZE(n->asked_bytes); i++)
        /* 0 is not compared, because nmd never requests less than the administrator's value */
        if (present_bytes == n->asked_bytes[i] && present_bytes > 0)
            return false;
    *n = (struct nm_slice_note){.own_bytes = present_bytes, .unsaved = true};
    return true;
}

/* Notes a value before nmd sets it. */
static void note_asked(struct nm_slice_note *n, uint64_t bytes)
{
    if (bytes == n->own_bytes || bytes == n->asked_bytes[0])
        return;
    for (size_t i = NM_ARRAY_SIZE(n->asked_bytes) - 1; i > 0; i--)
        n->asked_bytes[i] = n->asked_bytes[i - 1];
    n->asked_bytes[0] = bytes;
    n->unsaved = true;
}

/* Returns 0 if the file was read or is missing. A damaged file counts as missing. */
static int load_note(const char *directory, struct nm_slice_note *ret)
{
    _cleanup_close_ int dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct nm_slice_note n = {0};
    uint64_t v[1 + NM_ARRAY_SIZE(n.asked_bytes)];
    char text[160];
    int r = dir_fd < 0 ? -errno : nm_read_file_at(dir_fd, NOTE_NAME, text, sizeof text, NULL);

    if (r >= 0 && nm_parse_numbers(text, v, NM_ARRAY_SIZE(v)) == NM_ARRAY_SIZE(v)) {
        n.own_bytes = v[0];
        memcpy(n.asked_bytes, v + 1, sizeof n.asked_bytes);
    }
    *ret = n;
    return r == -ENOENT ? 0 : r;
}

/* Writes the note if it has changed. */
static int save_note(const char *directory, struct nm_slice_note *n)
{
    _cleanup_close_ int dir_fd = -EBADF;
    char text[160];
    int r;

    if (!n->unsaved)
        return 0;
    dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return -errno;
    (void)snprintf(text, sizeof text, LINE, n->own_bytes, n->asked_bytes[0], n->asked_bytes[1], n->asked_bytes[2],
                   n->asked_bytes[3]);
    r = nm_write_file_atomic_at(dir_fd, NOTE_NAME, text, 0600);
    if (r >= 0)
        n->unsaved = false;
    return r;
}

/*
 * ---- claims ------------------------------------------------------------------------------------
 *
 * A claim is the part of a guaranteed container's promised memory that the slice's memory.low protects now. If
 * memory.low covered more than guaranteed containers use, the unused part would protect idle page cache of the slice
 * from the rest of the node (mount option memory_recursiveprot). So each container claims only the memory that it holds
 * plus one step. The step is needed because a container may grow faster than samples are taken. A claim rises
 * immediately, and falls when no higher claim was needed for a minute. A new or increased promise is claimed entirely
 * for that minute, because the container is likely to use it.
 *
 * Claims are rounded up to whole steps, so that small changes of use don't cause a call to systemd with each sample.
 */

static uint64_t wanted(const struct nm_slice_claim *c, uint64_t charged_bytes)
{
    uint64_t step = NM_MAX(c->promised_bytes / STEP_SHARE, STEP_MIN_BYTES);
    uint64_t grown = c->seen_usec > 0 ? nm_sub_u64(charged_bytes, c->charged_bytes) : 0;
    uint64_t ahead = charged_bytes + NM_MAX(step, grown);

    return NM_MIN((ahead + step - 1) / step * step, c->promised_bytes);
}

uint64_t nm_slice_claim(struct nm_slice_claim *c, uint64_t promised_bytes, uint64_t charged_bytes, uint64_t at_usec)
{
    uint64_t now_wanted;

    if (promised_bytes > c->promised_bytes) {
        c->bytes = promised_bytes;
        c->peak_bytes = 0;
        c->since_usec = at_usec;
    }
    c->promised_bytes = promised_bytes;
    c->bytes = NM_MIN(c->bytes, promised_bytes);
    if (charged_bytes == 0 || at_usec == c->seen_usec)
        return c->bytes;
    now_wanted = wanted(c, charged_bytes);
    c->charged_bytes = charged_bytes;
    c->seen_usec = at_usec;
    if (c->since_usec == 0)
        c->since_usec = at_usec;
    c->peak_bytes = NM_MAX(c->peak_bytes, now_wanted);
    if (now_wanted >= c->bytes) {
        c->bytes = c->peak_bytes = now_wanted;
        c->since_usec = at_usec;
    } else if (at_usec - c->since_usec >= CLAIM_HOLD_USEC) {
        c->bytes = c->peak_bytes;
        c->peak_bytes = now_wanted;
        c->since_usec = at_usec;
    }
    return c->bytes;
}

/* Returns the sum of the claims of guaranteed containers that have a cgroup or are about to get a cgroup. */
static uint64_t claimed(struct nm_manager *m)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < m->live.n; i++) {
        struct nm_live_container *l = m->live.all[i];

        if (l->cg || nm_run_phase_is_creating(l->phase))
            sum += nm_slice_claim(&l->run.claim, l->limits.memory_low_bytes, l->run.sample.charged_bytes,
                                  l->run.sample.at_usec);
    }
    return sum;
}

/* ---- limits ------------------------------------------------------------------------------------ */

static void set(struct nm_manager *m);

static void on_set(int result, struct nm_cgroup *cg, const char *message, void *userdata)
{
    struct nm_manager *m = userdata;

    nm_cgroup_free(cg);
    m->slice->is_busy = false;
    if (result < 0)
        nm_warning("could not set the slice's limits: %s; ignoring",
                   message ? message : strerror(-result));
    if (!m->slice->again)
        return;
    m->slice->again = false;
    set(m);
}

/* Returns the administrator's value of memory.low. If the slice was stopped, the file can't be read, and the noted
 * value is returned. */
static uint64_t read_own_low(struct nm_manager *m)
{
    uint64_t present;

    if (nm_cgroup_slice_read_low(m->backend, &present) >= 0)
        (void)compare_note(&m->slice->note, present);
    return m->slice->note.own_bytes;
}

static void note(struct nm_manager *m, uint64_t bytes)
{
    int r;

    note_asked(&m->slice->note, nm_cgroup_round_to_page(bytes));
    r = save_note(m->runtime_dir, &m->slice->note);
    if (r < 0)
        nm_debug("can't save which part of the slice's memory.low the administrator set: %s", strerror(-r));
}

static void set(struct nm_manager *m)
{
    uint64_t own, max = m->slice->limits.memory_max_bytes;
    int r;

    if (m->slice->is_busy) {
        m->slice->again = true;
        return;
    }
    own = read_own_low(m);
    m->slice->claimed_bytes = claimed(m);
    if (!m->slice->limit_due) /* otherwise keep the previous limit until nm_slice_lower() */
        max = m->settings.capacity.memory_bytes;
    m->slice->limits = NM_CGROUP_LIMITS_NONE;
    m->slice->limits.memory_max_bytes = max;
    m->slice->limits.pids_max = m->tasks.slice;
    m->slice->limits.memory_low_bytes = NM_MAX(m->slice->claimed_bytes, own);
    note(m, m->slice->limits.memory_low_bytes);
    m->slice->is_busy = true;
    r = m->backend->ops->set_slice_limits(m->backend, &m->slice->limits, on_set, m);
    if (r < 0)
        on_set(r, NULL, NULL, m);
}

static void read_task_limits(struct nm_manager *m)
{
    uint64_t node_tasks = 0;

    /* if the node's limit can't be read, the slice gets no limit of tasks */
    (void)nm_tasks_max(m->proc_root, &node_tasks);
    m->tasks = nm_settings_tasks(m->config, node_tasks);
}

/* Reads the slice's memory.max. If the capacity was lowered while nmd was not running and more memory is in use,
 * memory.max is lowered later, as after nm_slice_set_capacity(). */
static void read_slice_max(struct nm_manager *m)
{
    _cleanup_close_ int fd = -EBADF;
    uint64_t present, used;

    if (m->backend->slice_fd >= 0)
        fd = openat(m->backend->slice_fd, "memory.stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || nm_cgroup_slice_read_max(m->backend, &present) < 0 || nm_cgroup_read_used(fd, &used) < 0)
        return;
    m->slice->limits.memory_max_bytes = present;
    m->slice->limit_due = NM_MIN(present, used) > m->settings.capacity.memory_bytes;
    if (m->slice->limit_due)
        m->round.verdict.in_use.memory_bytes = used; /* used until the first round sets it */
}

void nm_slice_begin(struct nm_manager *m)
{
    int r = load_note(m->runtime_dir, &m->slice->note);

    if (r < 0)
        nm_warning("can't read in %s which part of the slice's memory.low nmd has set: %s; its present value counts as "
                   "set by the administrator",
                   m->runtime_dir, strerror(-r));
    read_task_limits(m);
    read_slice_max(m);
}

void nm_slice_set(struct nm_manager *m)
{
    read_task_limits(m);
    set(m);
}

/* If memory.max fell below the current use, the kernel would immediately kill containers, and would choose other
 * containers than the policy. So nmd lowers memory.max only after the policy has reduced the use. */
void nm_slice_set_capacity(struct nm_manager *m)
{
    uint64_t to = m->settings.capacity.memory_bytes;

    m->slice->limit_due = to < m->slice->limits.memory_max_bytes && m->round.verdict.in_use.memory_bytes > to;
    nm_slice_set(m);
}

void nm_slice_lower(struct nm_manager *m)
{
    if (!m->slice->limit_due || m->round.verdict.in_use.memory_bytes > m->settings.capacity.memory_bytes)
        return;
    m->slice->limit_due = false;
    nm_slice_set(m);
}

void nm_slice_follow(struct nm_manager *m)
{
    if (claimed(m) != m->slice->claimed_bytes)
        set(m);
}

static void log_drift(struct nm_manager *m, int drift)
{
    for (int d = 0; d < NM_CGROUP_DRIFT_COUNT; d++) {
        if (!(drift & 1 << d))
            continue;
        m->counters.drift_repairs++;
        nm_log_container(LOG_WARNING, NULL, NULL, NM_MESSAGE_DRIFT,
                         "%s of %s was changed by another process; nmd has restored it",
                         nm_cgroup_drift_file((enum nm_cgroup_drift)d), m->backend->slice);
    }
}

void nm_slice_check_drift(struct nm_manager *m)
{
    const int low = 1 << NM_CGROUP_DRIFT_MEMORY_LOW;
    char text[32], claimed_text[32];
    uint64_t present;
    int drift;

    if (m->slice->is_busy)
        return;
    drift = nm_cgroup_slice_check_drift(m->backend, &m->slice->limits);
    if (drift <= 0)
        return;
    if (drift & low && nm_cgroup_slice_read_low(m->backend, &present) >= 0 && compare_note(&m->slice->note, present) &&
        present > m->slice->claimed_bytes) {
        nm_info("memory.low of %s was set to %s by another process, which is more than the %s that its guaranteed "
                "containers claim; nmd does not change it",
                m->backend->slice, nm_format_size(present, text, sizeof text),
                nm_format_size(m->slice->claimed_bytes, claimed_text, sizeof claimed_text));
        drift &= ~low;
    }
    log_drift(m, drift);
    set(m);
}
