/* SPDX-License-Identifier: Apache-2.0 */

/* See log-book.h. */

#include "yarn/logs/log-book.h"

#include <assert.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/utf8.h"

#define RETRY_MIN_USEC (10 * NM_USEC_PER_SEC)
#define RETRY_MAX_USEC (600 * NM_USEC_PER_SEC)

/* ---- creation and end --------------------------------------------------------------------- */

int nm_yarn_log_book_new(const struct nm_yarn_application_id *id, const char *user,
                         struct nm_yarn_log_context *context, struct nm_yarn_log_book **ret)
{
    _cleanup_(nm_yarn_log_book_freep) struct nm_yarn_log_book *b = calloc(1, sizeof *b);

    if (!b || !(b->user = strdup(user)))
        return -ENOMEM;
    b->number = *id;
    (void)nm_yarn_application_id_format(id, b->id);
    b->context = *context;
    *context = (struct nm_yarn_log_context){0};
    *ret = STEAL_PTR(b);
    return 0;
}

struct nm_yarn_log_book *nm_yarn_log_book_free(struct nm_yarn_log_book *b)
{
    if (!b)
        return NULL;
    for (size_t i = 0; i < b->n_running; i++)
        free(b->running[i].id);
    for (size_t i = 0; i < b->n_ended; i++)
        free(b->ended[i]);
    for (size_t i = 0; i < b->n_dirs; i++)
        free(b->dirs[i].path);
    free(b->running);
    free(b->ended);
    free(b->dirs);
    nm_yarn_log_context_done(&b->context);
    free(b->user);
    free(b->account);
    free(b->view_acl);
    free(b->modify_acl);
    free(b);
    return NULL;
}

void nm_yarn_log_book_configure(struct nm_yarn_log_book *b, const struct nm_yarn_log_policy *policy,
                                uint64_t roll_usec, uint64_t now_usec)
{
    b->policy = *policy;
    b->rolls = roll_usec > 0 && nm_yarn_log_context_rolls(&b->context);
    b->roll_usec = b->rolls ? roll_usec : 0;
    b->due_usec = b->is_finished ? 0 : now_usec + b->roll_usec;
}

static int set_once(char **field, const char *text)
{
    if (*field || !text)
        return 0;
    *field = strdup(text);
    return *field ? 0 : -ENOMEM;
}

int nm_yarn_log_book_set_account(struct nm_yarn_log_book *b, const char *account)
{
    return set_once(&b->account, account);
}

int nm_yarn_log_book_set_acls(struct nm_yarn_log_book *b, const char *view_acl, const char *modify_acl)
{
    int r = set_once(&b->view_acl, view_acl);

    return r < 0 ? r : set_once(&b->modify_acl, modify_acl);
}

int nm_yarn_log_book_add_dir(struct nm_yarn_log_book *b, const char *id, const char *path)
{
    struct nm_yarn_log_dir dir = {};

    for (size_t i = 0; i < b->n_dirs; i++)
        if (nm_streq(b->dirs[i].id, id))
            return 0;
    if (b->n_dirs == NM_YARN_LOG_DIRS_MAX)
        return -E2BIG;
    (void)snprintf(dir.id, sizeof dir.id, "%s", id);
    dir.path = strdup(path);
    if (!dir.path || NM_ARRAY_ROOM(b->dirs, b->n_dirs, b->dirs_size) < 0) {
        free(dir.path);
        return -ENOMEM;
    }
    b->dirs[b->n_dirs++] = dir;
    return 1;
}

/* ---- containers --------------------------------------------------------------------------- */

static size_t find_running(const struct nm_yarn_log_book *b, const char *container)
{
    size_t i = 0;

    while (i < b->n_running && !nm_streq(b->running[i].id, container))
        i++;
    return i;
}

/* Continues the books of an application that seemed to have ended. An upload in progress isn't the last one any more.
 */
static void reopen(struct nm_yarn_log_book *b)
{
    b->is_finished = b->upload.is_final = b->upload.is_abandoned = false;
    b->state = NM_YARN_LOG_OPEN;
    b->is_unsaved = true;
}

int nm_yarn_log_book_start(struct nm_yarn_log_book *b, const char *container, bool is_accepted)
{
    char *id;

    if (find_running(b, container) < b->n_running)
        return 0;
    if (b->is_finished || b->state != NM_YARN_LOG_OPEN)
        reopen(b);
    id = strdup(container);
    if (!id || NM_ARRAY_ROOM(b->running, b->n_running, b->running_size) < 0) {
        free(id);
        return -ENOMEM;
    }
    b->running[b->n_running++] = (struct nm_yarn_log_running){id, is_accepted};
    return 0;
}

static void drop_running(struct nm_yarn_log_book *b, const char *container)
{
    size_t i = find_running(b, container);

    if (i == b->n_running)
        return;
    free(b->running[i].id);
    b->running[i] = b->running[--b->n_running];
}

static bool has_ended(const struct nm_yarn_log_book *b, const char *container)
{
    for (size_t i = 0; i < b->n_ended; i++)
        if (nm_streq(b->ended[i], container))
            return true;
    return false;
}

static int add_ended(struct nm_yarn_log_book *b, const char *container)
{
    char *id = strdup(container);

    if (!id || NM_ARRAY_ROOM(b->ended, b->n_ended, b->ended_size) < 0) {
        free(id);
        return -ENOMEM;
    }
    b->ended[b->n_ended++] = id;
    return 0;
}

/* A container of an earlier nmd whose end the ResourceManager hasn't acknowledged is reported as ended once more, so it
 * may be in the list already. */
int nm_yarn_log_book_end(struct nm_yarn_log_book *b, const char *container, bool is_accepted)
{
    int r;

    drop_running(b, container);
    if (!is_accepted || b->state != NM_YARN_LOG_OPEN || (b->is_restored && has_ended(b, container)))
        return 0;
    if (b->n_ended >= NM_YARN_LOG_CONTAINERS_MAX) {
        nm_yarn_log_book_set_incomplete(b, "more containers ended while uploads failed than nmd remembers");
        return 0;
    }
    r = add_ended(b, container);
    if (r == 0 && b->upload.is_final) { /* the upload in progress doesn't cover the container */
        b->upload.is_final = false;
        b->is_unsaved = true;
    }
    return r < 0 ? r : 1;
}

int nm_yarn_log_book_restore(struct nm_yarn_log_book *b, const char *container)
{
    b->is_restored = true;
    return b->n_ended >= NM_YARN_LOG_CONTAINERS_MAX ? -E2BIG : add_ended(b, container);
}

void nm_yarn_log_book_set_incomplete(struct nm_yarn_log_book *b, const char *why)
{
    if (!b->is_incomplete)
        (void)snprintf(b->incomplete_why, sizeof b->incomplete_why, "%s", why);
    b->is_incomplete = true;
}

void nm_yarn_log_book_finish(struct nm_yarn_log_book *b, uint64_t now_usec, uint64_t realtime_usec)
{
    if (b->is_finished)
        return;
    b->is_finished = true;
    b->finished_usec = now_usec;
    b->finished_realtime_usec = realtime_usec;
    if (b->failures == 0 || b->upload.msec == 0) /* the delay of an abandoned upload ends here */
        b->due_usec = 0;
}

/* ---- uploads ------------------------------------------------------------------------------ */

uint64_t nm_yarn_log_book_due(const struct nm_yarn_log_book *b)
{
    if (b->state != NM_YARN_LOG_OPEN || b->upload.is_attempted)
        return NM_YARN_LOG_NEVER;
    if (b->upload.msec > 0 || b->is_finished)
        return b->due_usec;
    /* a rolling application must not wait either: the list of its containers would become full */
    if (b->n_ended >= NM_YARN_LOG_UPLOAD_MAX)
        return b->failures > 0 ? b->due_usec : 0;
    return b->rolls ? b->due_usec : NM_YARN_LOG_NEVER;
}

bool nm_yarn_log_book_begin(struct nm_yarn_log_book *b, uint64_t realtime_msec)
{
    const bool is_new = b->upload.msec == 0;

    assert(b->state == NM_YARN_LOG_OPEN && !b->upload.is_attempted);
    if (is_new) {
        /* two uploads must differ even if the clock was set back */
        b->upload.msec = b->last_msec = NM_MAX(realtime_msec, b->last_msec + 1);
        b->upload.n = NM_MIN(b->n_ended, (size_t)NM_YARN_LOG_UPLOAD_MAX);
        b->upload.is_final = b->is_finished && b->upload.n == b->n_ended;
    }
    b->upload.is_attempted = true;
    return is_new;
}

bool nm_yarn_log_book_has_work(const struct nm_yarn_log_book *b)
{
    if ((b->upload.msec > 0 ? b->upload.n : b->n_ended) > 0)
        return true;
    for (size_t i = 0; b->rolls && i < b->n_running; i++)
        if (b->running[i].is_accepted)
            return true;
    return false;
}

static void drop_uploaded(struct nm_yarn_log_book *b)
{
    for (size_t i = 0; i < b->upload.n; i++)
        free(b->ended[i]);
    b->n_ended -= b->upload.n;
    memmove(b->ended, b->ended + b->upload.n, b->n_ended * sizeof *b->ended);
}

static void close_book(struct nm_yarn_log_book *b, enum nm_yarn_log_state state)
{
    b->upload = (struct nm_yarn_log_upload){0};
    b->state = state;
}

static void take_success(struct nm_yarn_log_book *b, const struct nm_yarn_log_now *now)
{
    const bool is_final = b->upload.is_final;

    if (b->upload.n > 0)
        drop_uploaded(b);
    b->upload = (struct nm_yarn_log_upload){0};
    b->failures = 0;
    b->error[0] = '\0';
    b->due_usec = b->is_finished ? 0 : now->usec + b->roll_usec;
    if (is_final)
        close_book(b, b->is_incomplete ? NM_YARN_LOG_GIVEN_UP : NM_YARN_LOG_UPLOADED);
    if (is_final && b->is_incomplete)
        (void)snprintf(b->error, sizeof b->error, "%s",
                       *b->incomplete_why ? b->incomplete_why : "an earlier nmd could not record all of its logs");
}

static uint64_t backoff_usec(unsigned failures)
{
    return failures > 6 ? RETRY_MAX_USEC : NM_MIN(RETRY_MIN_USEC << (failures - 1), RETRY_MAX_USEC);
}

/* Gives up an upload that another attempt can't complete. While the application runs, its containers stay in the list,
 * and a later upload covers them. */
static void abandon_upload(struct nm_yarn_log_book *b, const struct nm_yarn_log_now *now)
{
    b->upload = (struct nm_yarn_log_upload){0};
    b->due_usec = now->usec + NM_MAX(b->roll_usec, RETRY_MAX_USEC);
}

/* Returns whether the attempts have failed for the configured time. The time while nmd wasn't running doesn't count. */
static bool is_too_late(const struct nm_yarn_log_book *b, const struct nm_yarn_log_now *now)
{
    return nm_sub_u64(now->usec, NM_MAX(b->finished_usec, now->started_usec)) >= now->retry_usec;
}

bool nm_yarn_log_book_take_result(struct nm_yarn_log_book *b, enum nm_yarn_log_result result, const char *error,
                                  const struct nm_yarn_log_now *now)
{
    assert(b->upload.is_attempted);
    b->upload.is_attempted = false;
    if (result == NM_YARN_LOG_DONE) {
        take_success(b, now);
        return true;
    }
    if (b->upload.is_abandoned) {
        close_book(b, NM_YARN_LOG_GIVEN_UP);
        return true;
    }
    b->failures++;
    (void)snprintf(b->error, sizeof b->error, "%s", error);
    b->error[nm_utf8_prefix(b->error)] = '\0'; /* a character may have been cut */
    b->due_usec = now->usec + backoff_usec(b->failures);
    if (b->is_finished && (result == NM_YARN_LOG_PERMANENT || is_too_late(b, now))) {
        b->upload.is_abandoned = true;
        b->due_usec = now->usec;
        return false;
    }
    if (result == NM_YARN_LOG_TEMPORARY)
        return false;
    abandon_upload(b, now);
    return true;
}
