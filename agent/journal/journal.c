/* SPDX-License-Identifier: Apache-2.0 */

/* Replaces a damaged journal by a new one with all known state. */

#include "agent/journal/journal.h"

#include <assert.h>

#include "agent/message-ids.h"
#include "agent/journal/durable.h"
#include "agent/journal/event-ring.h"
#include "agent/journal/decision-record.h"
#include "util/fileio.h"
#include "util/log.h"

static void put_all(struct nm_manager *m)
{
    (void)nm_store_begin(m->store);
    for (size_t i = 0; i < m->lives.n; i++)
        (void)nm_store_put_container(m->store, m->lives.all[i]->c);
    for (size_t i = 0; i < m->ended.n; i++)
        (void)nm_store_put_container(m->store, m->ended.all[i]);
    nm_durable_save_all(m);
    nm_record_store_result(m, nm_store_commit(m->store));
}

void nm_journal_tell_damage(struct nm_manager *m, const struct nm_store_opened *o, const char *rest)
{
    bool kept = access(o->set_aside, F_OK) == 0;

    assert(rest);
    (void)snprintf(m->journal.note, sizeof m->journal.note,
                   "the journal %s%.110s; %u containers and %u decisions could be read from it%s%s",
                   kept ? "was damaged and is set aside as " : "had been removed",
                   kept ? o->set_aside : "", o->saved.n_containers, o->saved.n_decisions,
                   o->saved.incomplete ? ", and some others could not" : "", rest);
    nm_log_container(LOG_ERR, NULL, NULL, NM_MESSAGE_STORE, "%s", m->journal.note);
    nm_events_tell_node(m, m->journal.note);
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
    nm_journal_tell_damage(m, &o,
                   r >= 0 ? "; a new journal has all containers that nmd knows"
                          : "; a new journal can't be created");
}
