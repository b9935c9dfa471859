/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Random histories of one application: containers start and end, uploads fail or are interrupted after any step, and
 * nmd is killed between any two steps. A model of the remote directory keeps which upload has stored which containers.
 * In every history:
 *
 *   - each accepted container is stored, before the local logs may be removed (state UPLOADED)
 *   - no ended container is stored twice, and the last upload is a final one
 *   - a container of an application that seemed to have ended opens its books again
 *   - the history comes to an end
 *
 *   test-yarn-logs-property [HISTORIES [SEED]]
 *
 * History number i has the seed SEED + i. A failure prints the seed of its history.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "yarn/logs/log-state.h"

#define HISTORIES 3000
#define CONTAINERS_MAX 30
#define UPLOADS_MAX 400
#define STEPS_MAX 3000
#define ROLL_USEC (60 * NM_USEC_PER_SEC)
#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("line %d, seed %llu: %s\n", __LINE__, (unsigned long long)m->seed, #condition); \
            exit(1); \
        } \
    } while (0)

enum place { ABSENT, RUNNING, ENDED };

struct model {
    uint64_t seed, random, now_usec;
    struct nm_yarn_log_book *book;
    char *saved; /* what nmd has saved */
    enum place places[CONTAINERS_MAX];
    bool accepted[CONTAINERS_MAX];
    unsigned n, stored[CONTAINERS_MAX]; /* how often the container was stored after its end */
    uint64_t uploads[UPLOADS_MAX];      /* the stored uploads by their time */
    unsigned n_uploads;
    bool is_final; /* the last stored upload */
    bool rolls;
};

static struct totals {
    unsigned long long uploads, kills, failures, containers, reopened;
} totals;

static uint64_t pick(struct model *m, uint64_t n)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return m->random % n;
}

static void name_of(unsigned i, char buf[static 40])
{
    (void)snprintf(buf, 40, "container_1_0001_01_%06u", i + 1);
}

static unsigned index_of(const char *name)
{
    return (unsigned)atoi(strrchr(name, '_') + 1) - 1;
}

static void configure(struct model *m)
{
    const struct nm_yarn_log_policy all = {.kind = NM_YARN_LOG_ALL};

    nm_yarn_log_book_configure(m->book, &all, m->rolls ? ROLL_USEC : 0, m->now_usec);
}

/* Saves all data. In some cases nmd appends a line instead. restart() checks that the result is the same. */
static void save(struct model *m)
{
    free(m->saved);
    m->saved = nm_yarn_log_state_text(m->book);
    CHECK(m->saved);
}

/* Saves the books after a change that isn't appended. */
static void save_unsaved(struct model *m)
{
    if (m->book->is_unsaved)
        save(m);
    m->book->is_unsaved = false;
}

static void append(struct model *m, char *line)
{
    char *text = NULL;

    CHECK(line && asprintf(&text, "%s%s", m->saved, line) >= 0);
    free(line);
    free(m->saved);
    m->saved = text;
}

static void begin_history(struct model *m, uint64_t seed)
{
    const struct nm_yarn_application_id id = {1, 1};
    struct nm_yarn_log_context c = {0};

    *m = (struct model){.seed = seed, .random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1, .now_usec = NM_USEC_PER_SEC};
    m->rolls = pick(m, 2);
    c.rolled_include = m->rolls ? strdup(".*") : NULL;
    CHECK(nm_yarn_log_book_new(&id, "alice", &c, &m->book) == 0);
    configure(m);
    save(m);
}

/* ---- steps -------------------------------------------------------------------------------- */

static void start_container(struct model *m)
{
    char name[40];

    if (m->n == CONTAINERS_MAX || (m->book->is_finished && pick(m, 4) > 0))
        return;
    m->accepted[m->n] = pick(m, 4) > 0;
    m->places[m->n] = RUNNING;
    name_of(m->n, name);
    totals.reopened += m->book->is_finished;
    CHECK(nm_yarn_log_book_start(m->book, name, true) == 0);
    CHECK(!m->book->is_finished && m->book->state == NM_YARN_LOG_OPEN);
    save_unsaved(m);
    m->n++;
    totals.containers++;
}

static void end_container(struct model *m, unsigned i)
{
    char name[40];
    int r;

    name_of(i, name);
    m->places[i] = ENDED;
    r = nm_yarn_log_book_end(m->book, name, m->accepted[i]);
    CHECK(r >= 0);
    if (r > 0 && !m->book->is_unsaved)
        append(m, nm_yarn_log_state_ended_line(name));
    save_unsaved(m);
}

static void end_some_container(struct model *m)
{
    unsigned i = m->n > 0 ? (unsigned)pick(m, m->n) : 0;

    if (m->n > 0 && m->places[i] == RUNNING)
        end_container(m, i);
}

static void finish(struct model *m)
{
    if (m->book->is_finished)
        return;
    for (unsigned i = 0; i < m->n; i++)
        if (m->places[i] == RUNNING)
            end_container(m, i);
    nm_yarn_log_book_finish(m->book, m->now_usec, m->now_usec);
    append(m, nm_yarn_log_state_finished_line(m->book));
}

static bool is_stored(const struct model *m, uint64_t msec)
{
    for (unsigned i = 0; i < m->n_uploads; i++)
        if (m->uploads[i] == msec)
            return true;
    return false;
}

/* Stores an upload, as nm-log-uploader does: an upload that is stored already isn't stored again. */
static void store(struct model *m)
{
    const struct nm_yarn_log_upload *u = &m->book->upload;

    if (is_stored(m, u->msec))
        return;
    CHECK(m->n_uploads < UPLOADS_MAX);
    m->uploads[m->n_uploads++] = u->msec;
    m->is_final = u->is_final;
    totals.uploads++;
    for (size_t i = 0; i < u->n; i++)
        m->stored[index_of(m->book->ended[i])]++;
}

/* nmd is killed. The next nmd reads what was saved. The manager reports the containers that run, and again the ends
 * that the ResourceManager hasn't acknowledged. */
static void restart(struct model *m)
{
    struct nm_yarn_log_book *next;

    CHECK(nm_yarn_log_state_parse(m->book->id, nm_bytes_of(m->saved), &next) == 0);
    CHECK(!next->is_incomplete && next->n_ended == m->book->n_ended && next->is_finished == m->book->is_finished);
    CHECK(next->upload.msec == m->book->upload.msec && next->upload.n == m->book->upload.n);
    nm_yarn_log_book_free(m->book);
    m->book = next;
    configure(m);
    totals.kills++;
    for (unsigned i = 0; i < m->n && m->book->state == NM_YARN_LOG_OPEN && !m->book->is_finished; i++) {
        char name[40];

        name_of(i, name);
        if (m->places[i] == RUNNING)
            CHECK(nm_yarn_log_book_start(m->book, name, true) == 0);
        else if (m->stored[i] == 0 && pick(m, 2) == 0)
            end_container(m, i);
    }
}

/* Makes an attempt, if one is due. */
static void attempt(struct model *m)
{
    const struct nm_yarn_log_now now = {m->now_usec, 0, UINT64_MAX};
    const uint64_t fate = pick(m, 8);

    if (nm_yarn_log_book_due(m->book) > m->now_usec)
        return;
    if (nm_yarn_log_book_begin(m->book, 5)) /* a clock that stands still: times differ nevertheless */
        append(m, nm_yarn_log_state_upload_line(m->book));
    if (pick(m, 4) == 0)
        end_some_container(m); /* during the attempt */
    if (fate < 5)
        store(m);
    if (fate == 4 || fate == 5) { /* killed after or before the upload was stored */
        restart(m);
        return;
    }
    totals.failures += fate > 5;
    if (nm_yarn_log_book_take_result(m->book, fate < 5 ? NM_YARN_LOG_DONE : NM_YARN_LOG_TEMPORARY, "x", &now))
        save(m);
}

static void step(struct model *m, bool is_late)
{
    m->now_usec += pick(m, is_late ? 700 : 40) * NM_USEC_PER_SEC;
    switch (pick(m, 9)) {
    case 0:
    case 1:
        start_container(m);
        break;
    case 2:
    case 3:
        end_some_container(m);
        break;
    case 4:
        if (is_late || pick(m, 20) == 0)
            finish(m);
        break;
    case 5:
        if (pick(m, 3) == 0)
            restart(m);
        break;
    default:
        attempt(m);
    }
}

static void check_end(const struct model *m)
{
    CHECK(m->book->state == NM_YARN_LOG_UPLOADED);
    CHECK(m->is_final && m->book->n_ended == 0);
    for (unsigned i = 0; i < m->n; i++)
        CHECK(m->stored[i] == (m->accepted[i] ? 1 : 0));
}

static void history(uint64_t seed)
{
    struct model m;

    begin_history(&m, seed);
    for (unsigned i = 0; m.book->state == NM_YARN_LOG_OPEN; i++) {
        if (i == STEPS_MAX) {
            printf("seed %llu: the history doesn't end\n", (unsigned long long)seed);
            exit(1);
        }
        step(&m, i > 200);
    }
    check_end(&m);
    nm_yarn_log_book_free(m.book);
    free(m.saved);
}

int main(int argc, char **argv)
{
    const uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : HISTORIES;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

    for (uint64_t i = 0; i < n; i++)
        history(seed + i);
    printf("%llu histories: %llu containers, %llu uploads, %llu failed attempts, %llu kills, %llu opened again\n",
           (unsigned long long)n, totals.containers, totals.uploads, totals.failures, totals.kills, totals.reopened);
    return totals.uploads > 0 && totals.kills > 0 && totals.failures > 0 && totals.reopened > 0 ? 0 : 1;
}
