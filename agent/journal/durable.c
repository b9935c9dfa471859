/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Persistent state other than containers and decisions: counters, the policy's record of recent kills, figures about
 * applications, and whether the node drains. This state is journalled as small texts in the transaction of the round
 * (or of the container's end) that changed the state, so it always matches the actions taken. A damaged journal is
 * replaced by a new one with this state and all containers.
 */

#include "agent/journal/journal.h"

#include <assert.h>
#include <inttypes.h>

#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "agent/message-ids.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/parse.h"

#define KEY_COUNTERS "counters"
#define KEY_REASONS "counters-by-reason"
#define KEY_POLICY "policy"
#define KEY_MARGIN "policy-margin"
#define KEY_SURGE_GAPS "policy-surge-gaps"
#define KEY_DRAIN "drain"
#define KEY_REMOVABLE "removable"

/* An application without containers for this time is removed, because many jobs get a new name each time. */
#define APP_RETENTION_USEC (30 * 24 * 3600 * NM_USEC_PER_SEC)

/* The values in the journal. */
struct nm_durable {
    struct nm_counters counters;
    struct nm_policy_memory memory;
    uint64_t removable_usec;
};

struct nm_durable *nm_durable_new(void)
{
    return calloc(1, sizeof(struct nm_durable));
}

struct nm_durable *nm_durable_free(struct nm_durable *d)
{
    free(d);
    return NULL;
}

/* ---- counters ------------------------------------------------------------ */

#define COUNTER(name) {#name, offsetof(struct nm_counters, name)}
static const struct {
    const char *name;
    size_t offset;
} counters[] = {
    COUNTER(submitted),       COUNTER(admitted),
    COUNTER(refused),         COUNTER(completed),
    COUNTER(paused),          COUNTER(resumed),
    COUNTER(killed),          COUNTER(shed),
    COUNTER(reclaimed_bytes), COUNTER(running_reclaims), COUNTER(kernel_oom_kills),
    COUNTER(wasted_cpu_usec), COUNTER(drift_repairs),
};

static uint64_t *counter(struct nm_counters *c, size_t i)
{
    return (uint64_t *)(void *)((char *)c + counters[i].offset);
}

static void put_counters(struct nm_manager *m)
{
    char text[1024];
    size_t n = 0;

    for (size_t i = 0; i < NM_ARRAY_SIZE(counters); i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %" PRIu64 "\n", counters[i].name,
                              *counter(&m->counters, i));
    m->durable->counters = m->counters;
    nm_record_store_result(m, nm_store_put_value(m->store, KEY_COUNTERS, text));
}

static const char *const counted[NM_COUNTED] = {
    [NM_COUNT_ADMITTED] = "admitted", [NM_COUNT_REFUSED] = "refused", [NM_COUNT_PAUSED] = "paused",
    [NM_COUNT_RESUMED] = "resumed",   [NM_COUNT_KILLED] = "killed",   [NM_COUNT_SHED] = "shed",
};
#define REASONS_TEXT_BYTES 8192 /* a kind of counter has only a few of some fifty reasons, so this is enough */

/* Stores the reasons apart from the sums, because an earlier nmd accepts no further words in the text of the sums. Each
 * line reads "killed memory-over-beta 3". */
static void put_reasons(struct nm_manager *m)
{
    char text[REASONS_TEXT_BYTES];
    size_t n = 0;

    for (size_t k = 0; k < NM_COUNTED; k++)
        for (size_t r = 0; r < NM_REASON_COUNT && n < sizeof text; r++)
            if (m->counters.by_reason[k][r] > 0)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s %s %" PRIu64 "\n", counted[k],
                                      nm_reason_name((enum nm_reason)r), m->counters.by_reason[k][r]);
    if (n > 0 && n < sizeof text)
        nm_record_store_result(m, nm_store_put_value(m->store, KEY_REASONS, text));
}

static void load_reason(struct nm_manager *m, const char *line)
{
    char kind[16], name[48], number[24];
    enum nm_reason reason;

    if (sscanf(line, "%15s %47s %23s", kind, name, number) != 3 || nm_reason_from_string(name, &reason) < 0)
        return;
    for (size_t k = 0; k < NM_COUNTED; k++)
        if (nm_streq(counted[k], kind))
            (void)nm_parse_u64(number, &m->counters.by_reason[k][reason]);
}

static void load_reasons(struct nm_manager *m)
{
    char text[REASONS_TEXT_BYTES], *save = NULL;

    if (nm_store_get_value(m->store, KEY_REASONS, text, sizeof text) < 0)
        return;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        load_reason(m, line);
}

static void save_counters(struct nm_manager *m)
{
    if (memcmp(m->counters.by_reason, m->durable->counters.by_reason, sizeof m->counters.by_reason) != 0)
        put_reasons(m);
    for (size_t i = 0; i < NM_ARRAY_SIZE(counters); i++)
        if (*counter(&m->counters, i) != *counter(&m->durable->counters, i)) {
            put_counters(m);
            return;
        }
}

static void load_counters(struct nm_manager *m)
{
    char text[1024], *save = NULL;

    load_reasons(m);
    if (nm_store_get_value(m->store, KEY_COUNTERS, text, sizeof text) < 0)
        return;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *space = strchr(line, ' ');

        if (!space)
            continue;
        *space = '\0';
        for (size_t i = 0; i < NM_ARRAY_SIZE(counters); i++)
            if (nm_streq(counters[i].name, line))
                (void)nm_parse_u64(space + 1, counter(&m->counters, i));
    }
    m->durable->counters = m->counters;
}

/* ---- the policy's memory --------------------------------------------------- */

#define N_KILLS NM_ARRAY_SIZE(((struct nm_policy_memory *)NULL)->kills_usec)

/* Stores the times between surges, the newest first. */
static void put_surge_gaps(struct nm_manager *m, const struct nm_policy_margin *margin)
{
    char text[12 * NM_SURGE_GAPS];
    int n = 0;

    for (size_t i = 0; i < NM_SURGE_GAPS; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%" PRIu32, i > 0 ? " " : "", margin->gap_sec[i]);
    nm_record_store_result(m, nm_store_put_value(m->store, KEY_SURGE_GAPS, text));
}

static void load_surge_gaps(const struct nm_manager *m, struct nm_policy_margin *ret)
{
    char text[12 * NM_SURGE_GAPS];
    uint64_t v[NM_SURGE_GAPS];

    if (nm_store_get_value(m->store, KEY_SURGE_GAPS, text, sizeof text) < 0 ||
        nm_parse_numbers(text, v, NM_SURGE_GAPS) != NM_SURGE_GAPS)
        return;
    for (size_t i = 0; i < NM_SURGE_GAPS; i++)
        ret->gap_sec[i] = (uint32_t)NM_MIN(v[i], (uint64_t)UINT32_MAX);
}

/* Stores the margin apart from the other values, because an earlier nmd checks the number of words of those values. The
 * times between surges are apart from the margin for the same reason. */
static void put_margin(struct nm_manager *m, const struct nm_policy_margin *margin)
{
    char text[96];

    (void)snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 " %" PRIu64, margin->until_usec,
                   margin->hold_usec, margin->peak_permille);
    nm_record_store_result(m, nm_store_put_value(m->store, KEY_MARGIN, text));
    put_surge_gaps(m, margin);
}

static void load_margin(const struct nm_manager *m, struct nm_policy_margin *ret)
{
    char text[96];
    uint64_t v[3];

    if (nm_store_get_value(m->store, KEY_MARGIN, text, sizeof text) >= 0 &&
        nm_parse_numbers(text, v, NM_ARRAY_SIZE(v)) == NM_ARRAY_SIZE(v))
        *ret = (struct nm_policy_margin){.until_usec = v[0], .hold_usec = v[1], .peak_permille = v[2]};
    load_surge_gaps(m, ret);
}

static void put_policy(struct nm_manager *m, const struct nm_policy_memory *memory)
{
    char text[32 * (N_KILLS + 2)];
    int n = snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64, memory->breaker_until_usec,
                     memory->breaker_hold_usec);

    for (size_t i = 0; i < N_KILLS; i++)
        if (memory->kills_usec[i])
            n += snprintf(text + n, sizeof text - (size_t)n, " %" PRIu64, memory->kills_usec[i]);
    put_margin(m, &memory->margin);
    m->durable->memory = *memory;
    nm_record_store_result(m, nm_store_put_value(m->store, KEY_POLICY, text));
}

static void save_policy(struct nm_manager *m)
{
    struct nm_policy_memory memory;

    nm_policy_get_memory(m->policy, &memory);
    if (memcmp(&memory, &m->durable->memory, sizeof memory) != 0)
        put_policy(m, &memory);
}

/* Loads the policy's memory. The stored times use the clock of one boot and are not valid after a reboot. */
static void load_policy(struct nm_manager *m)
{
    struct nm_policy_memory memory = {0};
    char text[32 * (N_KILLS + 2)], *save = NULL;
    size_t n = 0;

    if (!m->journal.opened.same_boot || nm_store_get_value(m->store, KEY_POLICY, text, sizeof text) < 0)
        return;
    for (char *word = strtok_r(text, " ", &save); word && n < N_KILLS + 2;
         word = strtok_r(NULL, " ", &save), n++) {
        uint64_t *to = n == 0   ? &memory.breaker_until_usec
                       : n == 1 ? &memory.breaker_hold_usec
                                : &memory.kills_usec[n - 2];

        if (nm_parse_u64(word, to) < 0)
            return;
    }
    load_margin(m, &memory.margin);
    nm_policy_set_memory(m->policy, &memory);
    m->durable->memory = memory;
}

/* ---- applications -------------------------------------------------------- */

void nm_durable_save_app(struct nm_manager *m, uint32_t app)
{
    char key[NM_STORE_KEY_SIZE], text[128];

    assert(app < m->apps.n);
    m->apps.all[app].seen_usec = nm_realtime_usec();
    (void)snprintf(key, sizeof key, NM_APP_KEY "%s", m->apps.all[app].name);
    (void)snprintf(text, sizeof text, "%" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64,
                   m->apps.views[app].completed, m->apps.all[app].n_runs, m->apps.all[app].mean_run_usec,
                   m->apps.all[app].seen_usec);
    nm_record_store_result(m, nm_store_put_value(m->store, key, text));
}

static void load_app(const char *key, const char *value, void *userdata)
{
    struct nm_manager *m = userdata;
    const char *name = key + strlen(NM_APP_KEY);
    uint64_t v[4]; /* containers completed, runs, mean duration of a run, time when nmd last saw the application */
    uint32_t app;

    if (nm_parse_numbers(value, v, NM_ARRAY_SIZE(v)) != NM_ARRAY_SIZE(v) || v[0] > UINT32_MAX || v[1] > UINT32_MAX ||
        v[3] + APP_RETENTION_USEC < nm_realtime_usec() || (*name && !nm_name_is_valid(name)) ||
        m->apps.n == NM_APPS_MAX) {
        (void)nm_store_delete_value(m->store, key);
        return;
    }
    app = nm_lists_app(m, name);
    if (app == 0 &&
        *name) /* applications without a free slot share slot 0, which is not saved */
        return;
    m->apps.views[app].completed = (uint32_t)v[0];
    m->apps.all[app].n_runs = (uint32_t)v[1];
    m->apps.all[app].mean_run_usec = v[2];
    m->apps.all[app].seen_usec = v[3];
}

/* ---- drain --------------------------------------------------------------- */

void nm_durable_save_drain(struct nm_manager *m)
{
    char text[32] = "0";

    if (m->drain.is_on)
        (void)snprintf(text, sizeof text, "%" PRIu64 " %d %d", m->drain.deadline_usec,
                       m->drain.opportunistic, m->drain.until_restart);
    nm_record_store_result(m, nm_store_put_value(m->store, KEY_DRAIN, text));
}

static void load_drain(struct nm_manager *m)
{
    uint64_t v[3] = {0}; /* deadline, and two flags that an earlier nmd did not write */
    char text[32];

    if (nm_store_get_value(m->store, KEY_DRAIN, text, sizeof text) < 0 || nm_streq(text, "0") ||
        nm_parse_numbers(text, v, NM_ARRAY_SIZE(v)) < 1)
        return;
    m->drain.is_on = true;
    m->drain.opportunistic = v[1] != 0;
    m->drain.until_restart = v[2] != 0;
    m->drain.deadline_usec = m->journal.opened.same_boot ? v[0] : UINT64_MAX;
}

/* ---- time since which the node is removable -------------------------------- */

static void put_removable(struct nm_manager *m)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, m->removable_since_usec);
    m->durable->removable_usec = m->removable_since_usec;
    nm_record_store_result(m, nm_store_put_value(m->store, KEY_REMOVABLE, text));
}

static void save_removable(struct nm_manager *m)
{
    if (m->removable_since_usec != m->durable->removable_usec)
        put_removable(m);
}

static void load_removable(struct nm_manager *m)
{
    char text[24];

    if (nm_store_get_value(m->store, KEY_REMOVABLE, text, sizeof text) >= 0)
        (void)nm_parse_u64(text, &m->removable_since_usec);
    m->durable->removable_usec = m->removable_since_usec;
}

/* ---- saving and loading everything --------------------------------------- */

void nm_durable_save(struct nm_manager *m)
{
    save_counters(m);
    save_policy(m);
    save_removable(m);
}

/* Saves everything into a new journal. */
static void save_all(struct nm_manager *m)
{
    struct nm_policy_memory memory;

    nm_policy_get_memory(m->policy, &memory);
    put_reasons(m);
    put_counters(m);
    put_policy(m, &memory);
    put_removable(m);
    for (uint32_t i = 0; i < m->apps.n; i++)
        if (m->apps.views[i].completed)
            nm_durable_save_app(m, i);
    nm_durable_save_drain(m);
}

void nm_durable_load(struct nm_manager *m)
{
    load_counters(m);
    load_policy(m);
    load_removable(m);
    (void)nm_store_load_values(m->store, NM_APP_KEY, load_app, m);
    load_drain(m);
}

/* ---- replacing a damaged journal ----------------------------------------- */

static void put_all(struct nm_manager *m)
{
    (void)nm_store_begin(m->store);
    for (size_t i = 0; i < m->live.n; i++)
        (void)nm_store_put_container(m->store, m->live.all[i]->c);
    for (size_t i = 0; i < m->ended.n; i++)
        (void)nm_store_put_container(m->store, m->ended.all[i]);
    save_all(m);
    nm_record_store_result(m, nm_store_commit(m->store));
}

void nm_journal_report_damage(struct nm_manager *m, const struct nm_store_opened *o, const char *rest)
{
    bool kept = access(o->set_aside, F_OK) == 0;

    assert(rest);
    (void)snprintf(m->journal.note, sizeof m->journal.note,
                   "the journal %s%.110s; %u containers and %u decisions could be read from it%s%s",
                   kept ? "was damaged and is set aside as " : "had been removed",
                   kept ? o->set_aside : "", o->saved.n_containers, o->saved.n_decisions,
                   o->saved.incomplete ? ", and some others could not" : "", rest);
    nm_log_container(LOG_ERR, NULL, NULL, NM_MESSAGE_STORE, "%s", m->journal.note);
    nm_events_publish_node(m, m->journal.note);
}

void nm_journal_replace(struct nm_manager *m)
{
    struct nm_store_opened o = {0};
    int r;

    (void)nm_mkdir_p(m->state_dir, 0700); /* the whole directory may have been removed */
    r = nm_store_restart(m->store, &o);
    if (r == -EPROTO)
        return; /* a transaction is open; the next round or housekeeping calls this function again, because the error is
                   still -EUCLEAN */
    nm_record_store_result(m, r);
    if (r >= 0)
        m->journal.opened.epoch = o.epoch;
    put_all(m);
    nm_journal_report_damage(m, &o,
                   r >= 0 ? "; a new journal has all containers that nmd knows"
                          : "; a new journal can't be created");
}
