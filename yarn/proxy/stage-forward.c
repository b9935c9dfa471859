/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See stage.h. Each call occupies a slot until it is answered. If the connection ends during a call, the call is sent
 * again on the next connection. If the ResourceManager has already answered this response id, it repeats its answer.
 */

#include "yarn/proxy/stage.h"

#include <errno.h>
#include <netdb.h>

#include "rpc/hadoop/client.h"
#include "util/clock.h"
#include "yarn/resolve.h"

#define PROTOCOL "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
#define DISTRIBUTED_PROTOCOL "org.apache.hadoop.yarn.server.api.DistributedSchedulingAMProtocolPB"
#define STANDBY "org.apache.hadoop.ipc.StandbyException"

/* A master has only one call in progress, but may send another call after it has given up waiting for the first
 * call. */
#define SLOTS 8u
/* Time limit for a waiting call. It must be well below the time after which masters stop trying to reach the
 * ResourceManager, and long enough for a restart of the ResourceManager. */
#define WAIT_MAX_USEC (20 * NM_USEC_PER_SEC)
#define RETRY_MIN_USEC (100 * NM_USEC_PER_MSEC)
#define RETRY_MAX_USEC (2 * NM_USEC_PER_SEC)

struct slot {
    struct forward *f;
    struct nm_stage_call *c; /* NULL: the slot is free */
    bool sent;               /* the call was sent on the current connection */
    int retries;
};

struct forward {
    struct nm_stage_master *m;
    struct slot slots[SLOTS];
    sd_event_source *timer;
    struct nm_resolve *resolve; /* the lookup in progress; NULL if no lookup is in progress */
    struct nm_hadoop_client *client;
    unsigned token_changes; /* token_changes of the master when the client was made */
    unsigned attempts, failures;
    unsigned tried; /* `scheduler` of the context when the last connection was started */
    struct nm_exception trouble; /* the reason why the last connection ended or failed */
};

static const struct {
    const char *name, *distributed_name;
    const ProtobufCMessageDescriptor *answer, *distributed_answer;
} methods[NM_MASTERS_N_METHODS] = {
    [NM_MASTERS_REGISTER] = {"registerApplicationMaster", "registerApplicationMasterForDistributedScheduling",
                             &masters__register_master_answer__descriptor,
                             &masters__distributed_register_answer__descriptor},
    [NM_MASTERS_ALLOCATE] = {"allocate", "allocateForDistributedScheduling", &masters__allocate_answer__descriptor,
                             &masters__distributed_allocate_answer__descriptor},
    [NM_MASTERS_FINISH] = {"finishApplicationMaster", "finishApplicationMaster", &masters__anything__descriptor,
                           &masters__anything__descriptor},
};

static void connect_now(struct forward *f);

/* ---- slots ------------------------------------------------------------------------------------ */

static bool is_waiting(const struct forward *f)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (f->slots[i].c)
            return true;
    return false;
}

static bool is_sent(const struct forward *f)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (f->slots[i].c && f->slots[i].sent)
            return true;
    return false;
}

static struct nm_stage_call *take(struct slot *s)
{
    struct nm_stage_call *c = s->c;

    s->c = NULL;
    return c;
}

static void refuse(struct slot *s)
{
    struct nm_exception why;

    nm_exception_set(&why, NM_EXCEPTION_APPLICATION, NM_EXCEPTION_RETRY,
                     "This node can't reach the ResourceManager: %s",
                     *s->f->trouble.message ? s->f->trouble.message : "no answer");
    nm_stage_answer(take(s), NULL, &why);
}

/* ---- timer ------------------------------------------------------------------------------------ */

static void set_timer(struct forward *f, uint64_t after_usec)
{
    (void)sd_event_source_set_time_relative(f->timer, after_usec);
    (void)sd_event_source_set_enabled(f->timer, SD_EVENT_ONESHOT);
}

static void try_later(struct forward *f)
{
    uint64_t after_usec = RETRY_MIN_USEC << NM_MIN(f->failures, 5u);

    f->failures++;
    for (unsigned i = 0; i < SLOTS; i++)
        f->slots[i].sent = false;
    set_timer(f, NM_MIN(after_usec, RETRY_MAX_USEC));
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    const uint64_t now = nm_now_usec();
    struct forward *f = userdata;

    (void)source, (void)usec;
    for (unsigned i = 0; i < SLOTS; i++)
        if (f->slots[i].c && now - f->slots[i].c->came_usec >= WAIT_MAX_USEC)
            refuse(&f->slots[i]);
    if (is_waiting(f) && !f->client && !f->resolve)
        connect_now(f);
    return 0;
}

/* ---- calls ------------------------------------------------------------------------------------ */

/* Switches to the next ResourceManager. All attempts share the choice. So when the first attempt fails to reach a
 * ResourceManager, all attempts switch to the next one. */
static void choose_another(struct forward *f)
{
    if (f->m->context->scheduler == f->tried)
        f->m->context->scheduler++;
}

static void give_up_this_one(struct forward *f)
{
    choose_another(f);
    f->client = nm_hadoop_client_free(f->client);
    try_later(f);
}

static void on_reply(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct slot *s = userdata;
    struct forward *f = s->f;

    s->sent = false;
    if (why)
        f->trouble = *why;
    if (error == 0) {
        f->failures = 0;
        nm_stage_answer(take(s), answer, NULL);
    } else if (why && nm_exception_is(why, STANDBY)) {
        give_up_this_one(f);
    } else if (why && nm_exception_is(why, NM_EXCEPTION_RETRY)) {
        nm_stage_answer(take(s), NULL, why); /* the master's client repeats the same call */
    } else if (error == -EREMOTEIO || (error == -EACCES && why)) {
        nm_stage_refuse(take(s), why);
    } else if (error == -ETIMEDOUT) {
        give_up_this_one(f);
    }
    /* with any other error the connection has ended, and on_closed() sends the call again */
}

static void on_closed(void *userdata, int error, const struct nm_exception *why)
{
    struct forward *f = userdata;

    f->client = nm_hadoop_client_free(f->client);
    if (!is_waiting(f))
        return;
    if (!why)
        nm_exception_set(&f->trouble, 0, "connection", "%s", error ? strerror(-error) : "the ResourceManager closed "
            "the connection");
    choose_another(f);
    try_later(f);
}

/* Only heartbeats are safe to send again while the ResourceManager may still process the first one. */
static uint64_t timeout_usec(const struct nm_stage_call *c, const struct nm_yarn_settings *s)
{
    return c->method == NM_MASTERS_ALLOCATE ? nm_yarn_heartbeat_timeout_usec(s) : s->rpc_timeout_usec ?: UINT64_MAX;
}

/* Sends a call. If it can't be sent, and the connection is not the reason, the call is refused immediately, because a
 * retry would fail too. */
static void send_slot(struct forward *f, struct slot *s)
{
    const bool distributed = f->m->distributed;
    const struct nm_stage_call *c = s->c;
    const char *name = distributed ? methods[c->method].distributed_name : methods[c->method].name;
    int r = nm_hadoop_client_call_for(f->client, nm_hadoop_call_context(c->call), name, c->request,
                                      distributed ? methods[c->method].distributed_answer : methods[c->method].answer,
                                      s->retries++, timeout_usec(c, f->m->context->settings), on_reply, s);

    s->sent = r == 0;
    if (r < 0 && r != -ENOTCONN) {
        nm_exception_set(&f->trouble, 0, "connection", "%s", strerror(-r));
        refuse(s);
    }
}

static void send_all(struct forward *f)
{
    for (unsigned i = 0; i < SLOTS && f->client; i++)
        if (f->slots[i].c && !f->slots[i].sent)
            send_slot(f, &f->slots[i]);
}

/* ---- connections ------------------------------------------------------------------------------ */

static int connect_to(struct forward *f, const struct nm_resolved *rm)
{
    const unsigned i = f->attempts++ % rm->n;
    const struct nm_hadoop_client_options o = {
        .address = (const struct sockaddr *)&rm->addresses[i], .address_size = rm->sizes[i],
        .protocol = f->m->distributed ? DISTRIBUTED_PROTOCOL : PROTOCOL, .version = 1, .token = f->m->token,
        .closed = on_closed, .userdata = f, .connect_usec = f->m->context->settings->connect_usec};

    f->token_changes = f->m->token_changes;
    return nm_hadoop_client_new(f->m->context->event, &o, &f->client);
}

static void on_resolved(const struct nm_resolved *rm, void *userdata)
{
    struct forward *f = userdata;
    int r = 0;

    f->resolve = nm_resolve_free(f->resolve);
    if (rm->error != 0 || rm->n == 0) {
        nm_exception_set(&f->trouble, 0, "name services", "%s", gai_strerror(rm->error ?: EAI_NONAME));
        choose_another(f);
    } else {
        r = connect_to(f, rm);
    }
    if (r < 0)
        nm_exception_set(&f->trouble, 0, "connection", "%s", strerror(-r));
    if (f->client)
        send_all(f);
    else
        try_later(f);
}

static void connect_now(struct forward *f)
{
    const struct nm_yarn_settings *s = f->m->context->settings;
    const struct nm_yarn_address *a =
        s->n_schedulers > 0 ? &s->schedulers[f->m->context->scheduler % s->n_schedulers] : &s->scheduler;
    int r;

    f->tried = f->m->context->scheduler;
    r = nm_resolve_new(f->m->context->event, a->host, a->port, on_resolved, f, &f->resolve);
    if (r < 0) {
        nm_exception_set(&f->trouble, 0, "name services", "%s", strerror(-r));
        try_later(f);
    }
}

/* ---- the stage -------------------------------------------------------------------------------- */

static int forward_request(void *stage, struct nm_stage_call *c, struct nm_exception *why)
{
    struct forward *f = stage;
    struct slot *s = f->slots;

    while (s < f->slots + SLOTS && s->c)
        s++;
    if (s == f->slots + SLOTS) {
        nm_exception_set(why, NM_EXCEPTION_APPLICATION, NM_EXCEPTION_RETRY, "%u calls of %s are already waiting.",
                         SLOTS, f->m->name);
        return NM_STAGE_E_REFUSED;
    }
    *s = (struct slot){.f = f, .c = c};
    /* The ResourceManager checks the token that was used when the connection was made. It sends a new token with each
     * answer until a connection uses the new token. */
    if (f->client && f->token_changes != f->m->token_changes && !is_sent(f))
        f->client = nm_hadoop_client_free(f->client);
    if (f->client)
        send_slot(f, s);
    else if (!f->resolve)
        set_timer(f, 0);
    return NM_STAGE_E_TAKEN;
}

static int forward_open(struct nm_stage_master *m, const struct nm_yarn_stored_master *kept, void **ret)
{
    struct forward *f = calloc(1, sizeof *f);
    int r;

    (void)kept;
    if (!f)
        return -ENOMEM;
    f->m = m;
    r = sd_event_add_time_relative(m->context->event, &f->timer, CLOCK_BOOTTIME, 0, NM_USEC_PER_MSEC, on_timer, f);
    if (r >= 0)
        r = sd_event_source_set_enabled(f->timer, SD_EVENT_OFF);
    if (r < 0) {
        sd_event_source_disable_unref(f->timer);
        free(f);
        return r;
    }
    *ret = f;
    return 0;
}

static void forward_close(void *stage)
{
    struct forward *f = stage;

    nm_hadoop_client_free(f->client);
    nm_resolve_free(f->resolve);
    sd_event_source_disable_unref(f->timer);
    for (unsigned i = 0; i < SLOTS; i++)
        if (f->slots[i].c)
            refuse(&f->slots[i]);
    free(f);
}

const struct nm_stage_type nm_stage_forward = {
    .name = "forward",
    .class_name = "org.apache.hadoop.yarn.server.nodemanager.amrmproxy.DefaultRequestInterceptor",
    .open = forward_open,
    .close = forward_close,
    .request = forward_request,
};
