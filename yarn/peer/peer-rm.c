/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Questions to the ResourceManager's port for clients: see peer-state.h. If a ResourceManager can't be reached, is on
 * standby or refuses the connection, the next one is tried. If none answers, all questions fail, and no
 * ResourceManager is asked for some time.
 */

#include "yarn/peer/peer-state.h"

#include <errno.h>
#include <string.h>

#include "yarn/id-messages.h"
#include "yarn/peer/peer.pb-c.h"

#define PROTOCOL "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
#define STANDBY "org.apache.hadoop.ipc.StandbyException"
#define USER "yarn" /* the user name of daemons in a cluster without Kerberos */

static void connect_now(struct nm_peers *all);
static int send_question(struct nm_peers *all, struct nm_peer_question *q);

/* ---- questions ---------------------------------------------------------------------------- */

static void remove_question(struct nm_peer_rm *rm, struct nm_peer_question *q)
{
    struct nm_peer_question **at = &rm->questions;

    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    rm->n_questions--;
}

static void free_question(struct nm_peer_question *q)
{
    free(q->type);
    free(q->queue);
    free(q);
}

static void end_question(struct nm_peer_rm *rm, struct nm_peer_question *q, int error)
{
    remove_question(rm, q);
    q->error = error;
    q->next = rm->ended;
    rm->ended = q;
}

/* Calls the callbacks of failed questions. A callback may ask, and may forget questions of this list. */
static void deliver(struct nm_peer_rm *rm)
{
    for (struct nm_peer_question *q; (q = rm->ended);) {
        rm->ended = q->next;
        if (q->cb)
            q->cb(q->userdata, q->error, NULL);
        free_question(q);
    }
}

/* ---- the connection ----------------------------------------------------------------------- */

static size_t count_addresses(const struct nm_yarn_settings *s)
{
    return s->ha ? s->n_rm_clients : 1;
}

/* Leaves the current ResourceManager. Asks the next one, or fails if all were tried. */
static void try_next(struct nm_peers *all, int error)
{
    struct nm_peer_rm *rm = &all->rm;

    rm->client = nm_hadoop_client_free(rm->client);
    rm->which++;
    for (struct nm_peer_question *q = rm->questions; q; q = q->next)
        q->sent = false;
    if (++rm->tried < count_addresses(all->p.settings)) {
        if (rm->questions)
            connect_now(all);
        return;
    }
    rm->tried = 0;
    rm->retry_usec = nm_now_usec() + NM_PEER_RETRY_USEC;
    while (rm->questions)
        end_question(rm, rm->questions, error);
}

/* The ResourceManager says "<Not set>" or "<DEFAULT_PARTITION>" if there is no label. A label can't begin like that. */
static bool is_label(const char *label)
{
    return label && *label && *label != '<';
}

/* Ends a question that the ResourceManager has answered, by a refusal if error isn't 0. */
static void finish(struct nm_peer_rm *rm, struct nm_peer_question *q, int error, bool labelled)
{
    const struct nm_peer_application a = {.type = q->type, .queue = q->queue, .labelled = labelled};

    remove_question(rm, q);
    if (q->cb)
        q->cb(q->userdata, error, error == 0 ? &a : NULL);
    free_question(q);
}

static int set_text(char **to, const char *text)
{
    *to = text && *text ? strdup(text) : NULL;
    return *to || !text || !*text ? 0 : -ENOMEM;
}

/* A queue's default label counts for an application without a label. */
static void on_report(struct nm_peer_rm *rm, struct nm_peer_question *q, const Peer__ApplicationReport *report)
{
    int r = 0;

    if (report) {
        r = set_text(&q->type, report->type);
        r = r < 0 ? r : set_text(&q->queue, report->queue);
    }
    if (r == 0 && q->queue && !is_label(report->label)) {
        q->is_reported = true;
        r = send_question(q->all, q);
        if (r == 0)
            return;
    }
    finish(rm, q, r, report && is_label(report->label));
}

/* A scheduler that doesn't describe the queue has no label for it. */
static void on_answer(struct nm_peer_rm *rm, struct nm_peer_question *q, int error, const ProtobufCMessage *answer)
{
    const Peer__QueueAnswer *a = q->is_reported && error == 0 ? (const Peer__QueueAnswer *)answer : NULL;

    if (q->is_reported)
        finish(rm, q, 0, a && a->info && is_label(a->info->label));
    else if (error == 0)
        on_report(rm, q, ((const Peer__ApplicationAnswer *)answer)->report);
    else
        finish(rm, q, error, false);
}

static void on_reply(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct nm_peer_question *q = userdata;
    struct nm_peers *all = q->all;
    struct nm_peer_rm *rm = &all->rm;

    rm->used_usec = nm_now_usec();
    if (error != 0 && (error != -EREMOTEIO || (why && nm_exception_is(why, STANDBY)))) {
        try_next(all, error == -EREMOTEIO ? -EHOSTUNREACH : error);
        deliver(rm);
        return;
    }
    rm->tried = 0;
    on_answer(rm, q, error, answer);
}

/* Without questions, the end of the connection doesn't matter. With questions, on_reply() has handled the end. */
static void on_closed(void *userdata, int error, const struct nm_exception *why)
{
    struct nm_peers *all = userdata;

    (void)error, (void)why;
    all->rm.client = nm_hadoop_client_free(all->rm.client);
}

static int send_about_application(struct nm_peers *all, struct nm_peer_question *q)
{
    Peer__ApplicationRequest request = PEER__APPLICATION_REQUEST__INIT;
    Hadoop__ApplicationId id;

    nm_yarn_application_message_set(&id, &q->id);
    request.id = &id;
    return nm_hadoop_client_call(all->rm.client, "getApplicationReport", &request.base,
                                 &peer__application_answer__descriptor, 0, UINT64_MAX, on_reply, q);
}

static int send_about_queue(struct nm_peers *all, struct nm_peer_question *q)
{
    Peer__QueueRequest request = PEER__QUEUE_REQUEST__INIT;

    request.queue = q->queue;
    return nm_hadoop_client_call(all->rm.client, "getQueueInfo", &request.base, &peer__queue_answer__descriptor, 0,
                                 UINT64_MAX, on_reply, q);
}

static int send_question(struct nm_peers *all, struct nm_peer_question *q)
{
    int r = q->is_reported ? send_about_queue(all, q) : send_about_application(all, q);

    q->sent = r == 0;
    return r;
}

static int send_all(struct nm_peers *all)
{
    int r = 0;

    for (struct nm_peer_question *q = all->rm.questions; r == 0 && q; q = q->next)
        if (!q->sent)
            r = send_question(all, q);
    return r;
}

static int connect_to(struct nm_peers *all, const struct nm_resolved *to)
{
    const unsigned i = all->rm.attempts++ % to->n;
    const struct nm_hadoop_client_options o = {
        .address = (const struct sockaddr *)&to->addresses[i], .address_size = to->sizes[i], .protocol = PROTOCOL,
        .version = 1, .user = USER, .closed = on_closed, .userdata = all, .connect_usec = NM_PEER_CALL_USEC,
        .frame_max = NM_MIB};

    return nm_hadoop_client_new(all->p.event, &o, &all->rm.client);
}

static void on_resolved(const struct nm_resolved *found, void *userdata)
{
    struct nm_peers *all = userdata;
    int r = -EHOSTUNREACH;

    all->rm.resolve = nm_resolve_free(all->rm.resolve);
    if (found->error == 0 && found->n > 0)
        r = connect_to(all, found);
    if (r == 0)
        r = send_all(all);
    if (r < 0)
        try_next(all, r);
    deliver(&all->rm);
}

static void connect_now(struct nm_peers *all)
{
    const struct nm_yarn_settings *s = all->p.settings;
    const struct nm_yarn_address *a = s->ha ? &s->rm_clients[all->rm.which % s->n_rm_clients] : &s->rm_client;
    int r = nm_resolve_new(all->p.event, a->host, a->port, on_resolved, all, &all->rm.resolve);

    if (r < 0)
        try_next(all, r);
}

/* ---- for peer.c --------------------------------------------------------------------------- */

static bool is_asked(const struct nm_peer_rm *rm, const struct nm_yarn_application_id *id, const void *userdata)
{
    for (const struct nm_peer_question *q = rm->questions; q; q = q->next)
        if (q->cb && q->userdata == userdata && nm_yarn_same_application(&q->id, id))
            return true;
    return false;
}

/* Sends the new question, if there is a connection. If it can't be sent, the connection is about to end. */
static int begin(struct nm_peers *all, struct nm_peer_question *q)
{
    const struct nm_yarn_settings *s = all->p.settings;
    const struct nm_yarn_address *a = s->ha ? &s->rm_clients[all->rm.which % s->n_rm_clients] : &s->rm_client;

    if (all->rm.client)
        return send_question(all, q);
    return all->rm.resolve ? 0 : nm_resolve_new(all->p.event, a->host, a->port, on_resolved, all, &all->rm.resolve);
}

int nm_peers_ask_application(struct nm_peers *all, const struct nm_yarn_application_id *id,
                             nm_peer_application_cb_t cb, void *userdata)
{
    const uint64_t now = nm_now_usec();
    struct nm_peer_rm *rm = &all->rm;
    struct nm_peer_question *q;
    int r;

    if (count_addresses(all->p.settings) == 0)
        return -EADDRNOTAVAIL;
    if (now < rm->retry_usec)
        return -EHOSTUNREACH;
    if (rm->n_questions == NM_PEER_QUESTIONS_MAX || is_asked(rm, id, userdata))
        return -EBUSY;
    q = calloc(1, sizeof *q);
    if (!q)
        return -ENOMEM;
    *q = (struct nm_peer_question){.all = all, .next = rm->questions, .id = *id, .cb = cb, .userdata = userdata,
                                   .due_usec = now + NM_PEER_CALL_USEC};
    rm->questions = q;
    rm->n_questions++;
    rm->used_usec = now;
    nm_peers_start_timer(all);
    r = begin(all, q);
    if (r < 0) {
        remove_question(rm, q);
        free_question(q);
    }
    return r;
}

/* If a question's time is over, the ResourceManager hangs or was not found in time. All questions fail. */
void nm_peer_rm_tick(struct nm_peers *all, uint64_t now_usec)
{
    struct nm_peer_rm *rm = &all->rm;
    bool due = false;

    for (const struct nm_peer_question *q = rm->questions; q; q = q->next)
        due |= now_usec >= q->due_usec;
    if (due) {
        rm->resolve = nm_resolve_free(rm->resolve);
        rm->tried = (unsigned)count_addresses(all->p.settings);
        try_next(all, -ETIMEDOUT);
    }
    if (!rm->questions && rm->client && now_usec >= rm->used_usec + NM_PEER_IDLE_USEC)
        rm->client = nm_hadoop_client_free(rm->client);
    deliver(rm);
}

void nm_peer_rm_forget(struct nm_peers *all, const void *userdata)
{
    for (struct nm_peer_question *q = all->rm.questions; q; q = q->next)
        if (q->userdata == userdata)
            q->cb = NULL;
    for (struct nm_peer_question *q = all->rm.ended; q; q = q->next)
        if (q->userdata == userdata)
            q->cb = NULL;
}

void nm_peer_rm_done(struct nm_peers *all)
{
    struct nm_peer_rm *rm = &all->rm;

    nm_resolve_free(rm->resolve);
    nm_hadoop_client_free(rm->client);
    while (rm->questions)
        end_question(rm, rm->questions, -ECANCELED);
    for (struct nm_peer_question *q; (q = rm->ended);) {
        rm->ended = q->next;
        free_question(q);
    }
}
