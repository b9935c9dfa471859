/* SPDX-License-Identifier: Apache-2.0 */

/* See lend-stage-fixture.h. */

#include "lend-stage-fixture.h"

#include <errno.h>
#include <inttypes.h>

#include "util/clock.h"
#include "util/loop.h"
#include "yarn-tokens.h"
#include "yarn/id-messages.h"

static struct lend_fixture *here; /* the fixture of the present test */
static uint64_t forward_usec;

/* ---- replaced functions --------------------------------------------------------------------------- */

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
    int r = __real_clock_gettime(clock, ts);

    ts->tv_sec += (time_t)(forward_usec / NM_USEC_PER_SEC);
    return r;
}

void lend_put_clock_forward(uint64_t usec)
{
    forward_usec += usec;
}

void __real_nm_lender_enlist(struct nm_lender *l);
void __wrap_nm_lender_enlist(struct nm_lender *l);
void __wrap_nm_lender_enlist(struct nm_lender *l)
{
    here->lender = l;
    __real_nm_lender_enlist(l);
}

unsigned lend_walks;

void __real_nm_lend_each_key(const struct nm_lend *l, nm_lend_key_cb_t cb, void *userdata);
void __wrap_nm_lend_each_key(const struct nm_lend *l, nm_lend_key_cb_t cb, void *userdata);
void __wrap_nm_lend_each_key(const struct nm_lend *l, nm_lend_key_cb_t cb, void *userdata)
{
    lend_walks++;
    __real_nm_lend_each_key(l, cb, userdata);
}

static struct {
    nm_peer_application_cb_t type_cb;
    nm_peer_room_cb_t room_cb;
    nm_peer_update_cb_t update_cb;
    void *type_data, *room_data, *update_data;
    struct nm_yarn_container_id asked[8], updated;
    int32_t asked_port;
} pending;

int __wrap_nm_peers_ask_application(struct nm_peers *p, const struct nm_yarn_application_id *id,
                                    nm_peer_application_cb_t cb, void *userdata);
int __wrap_nm_peers_ask_application(struct nm_peers *p, const struct nm_yarn_application_id *id,
                                    nm_peer_application_cb_t cb, void *userdata)
{
    assert_non_null(p);
    assert_int_equal(id->number, 1);
    here->type_questions++;
    if (here->refuses_calls == 0) {
        pending.type_cb = cb;
        pending.type_data = userdata;
    }
    return here->refuses_calls;
}

int __wrap_nm_peers_ask_room(struct nm_peers *p, const struct nm_peer_caller *caller, const char *host, int32_t port,
                             const struct nm_yarn_container_id *ids, size_t n, nm_peer_room_cb_t cb, void *userdata);
int __wrap_nm_peers_ask_room(struct nm_peers *p, const struct nm_peer_caller *caller, const char *host, int32_t port,
                             const struct nm_yarn_container_id *ids, size_t n, nm_peer_room_cb_t cb, void *userdata)
{
    assert_non_null(p);
    assert_string_equal(caller->submitter, "ada");
    here->room_questions++;
    here->n_asked = NM_MIN(n, NM_ARRAY_SIZE(pending.asked));
    (void)snprintf(here->asked_host, sizeof here->asked_host, "%s", host);
    for (size_t i = 0; i < here->n_asked; i++) {
        here->asked_numbers[i] = ids[i].number;
        pending.asked[i] = ids[i];
    }
    pending.asked_port = port;
    pending.room_cb = cb;
    pending.room_data = userdata;
    return here->refuses_calls;
}

int __wrap_nm_peers_update(struct nm_peers *p, const struct nm_peer_caller *caller, const char *host, int32_t port,
                           const struct nm_yarn_container_id *id, const Hadoop__Token *token, nm_peer_update_cb_t cb,
                           void *userdata);
int __wrap_nm_peers_update(struct nm_peers *p, const struct nm_peer_caller *caller, const char *host, int32_t port,
                           const struct nm_yarn_container_id *id, const Hadoop__Token *token, nm_peer_update_cb_t cb,
                           void *userdata)
{
    assert_non_null(p);
    assert_int_equal(caller->attempt.number, here->attempt);
    assert_int_equal(port, TOKENS_PORT);
    here->updates++;
    here->updated_number = id->number;
    (void)snprintf(here->updated_host, sizeof here->updated_host, "%s", host);
    (void)snprintf(here->updated_token, sizeof here->updated_token, "%.*s", (int)token->identifier.len,
                   (const char *)token->identifier.data);
    pending.updated = *id;
    pending.update_cb = cb;
    pending.update_data = userdata;
    return here->refuses_calls;
}

void __wrap_nm_peers_forget(struct nm_peers *p, const void *userdata);
void __wrap_nm_peers_forget(struct nm_peers *p, const void *userdata)
{
    assert_non_null(p);
    here->forgotten++;
    if (pending.type_data == userdata)
        pending.type_cb = NULL;
    if (pending.room_data == userdata)
        pending.room_cb = NULL;
    if (pending.update_data == userdata)
        pending.update_cb = NULL;
}

void lend_tell_type(struct lend_fixture *l, const char *type)
{
    const struct nm_peer_application a = {.type = type, .queue = NULL, .labelled = l->labelled};
    const nm_peer_application_cb_t cb = pending.type_cb;

    assert_non_null(cb);
    pending.type_cb = NULL;
    cb(pending.type_data, type ? 0 : -EHOSTUNREACH, &a);
}

static void tell_states(struct lend_fixture *l, const char *host, int64_t memory_mib,
                        enum nm_peer_container_state state)
{
    enum nm_peer_container_state states[NM_ARRAY_SIZE(pending.asked)];
    bool guaranteed[NM_ARRAY_SIZE(pending.asked)];
    const struct nm_peer_room room = {
        .memory_mib = 8192, .vcores = 8, .guaranteed_free_memory_mib = memory_mib, .guaranteed_free_vcores = 8,
        .unused_memory_mib = memory_mib, .admits = true, .ids = pending.asked, .states = states,
        .guaranteed = guaranteed, .n = l->n_asked};
    const nm_peer_room_cb_t cb = pending.room_cb;

    assert_non_null(cb);
    assert_string_equal(l->asked_host, host);
    for (size_t i = 0; i < NM_ARRAY_SIZE(states); i++) {
        states[i] = state;
        guaranteed[i] = l->has_guaranteed && l->has_guaranteed(l, pending.asked[i].number);
    }
    pending.room_cb = NULL;
    cb(pending.room_data, host, pending.asked_port, memory_mib < 0 ? -EHOSTUNREACH : 0, &room);
}

void lend_tell_room(struct lend_fixture *l, const char *host, int64_t memory_mib, bool running)
{
    tell_states(l, host, memory_mib, running ? NM_PEER_CONTAINER_RUNNING : NM_PEER_CONTAINER_QUEUED);
}

void lend_confirm_room(struct lend_fixture *l, const char *host, int64_t memory_mib)
{
    lend_tell_room(l, host, memory_mib, true);
    lend_put_clock_forward(6 * NM_USEC_PER_SEC);
    lend_run_until(l, &l->room_questions, l->room_questions + !lend_has_room_question(l));
    lend_tell_room(l, host, memory_mib, true);
}

void lend_tell_unknown(struct lend_fixture *l, const char *host)
{
    tell_states(l, host, 0, NM_PEER_CONTAINER_UNKNOWN);
}

bool lend_has_room_question(const struct lend_fixture *l)
{
    (void)l;
    return pending.room_cb;
}

bool lend_has_update(const struct lend_fixture *l)
{
    (void)l;
    return pending.update_cb;
}

void lend_tell_update(struct lend_fixture *l, int error)
{
    const nm_peer_update_cb_t cb = pending.update_cb;

    (void)l;
    assert_non_null(cb);
    pending.update_cb = NULL;
    cb(pending.update_data, &pending.updated, error);
}

void lend_run_until(struct lend_fixture *l, const unsigned *counter, unsigned value)
{
    const uint64_t deadline = nm_now_usec() + 20 * NM_USEC_PER_SEC;

    while (*counter < value) {
        assert_true(nm_now_usec() < deadline);
        assert_true(sd_event_run(l->w.event, 100 * NM_USEC_PER_MSEC) >= 0);
    }
}

/* ---- requests with placement constraints ---------------------------------------------------------- */

/* The bytes of one request, with an allocation tag and a constraint, which nmd doesn't know. */
struct placement_bytes {
    uint8_t packed[64];
};

static ProtobufCBinaryData make_placement(const struct lend_placement *from, struct placement_bytes *to)
{
    const uint8_t bytes[] = {
        8, (uint8_t)from->id, 18, 2, 8, (uint8_t)from->priority, 26, 2, 8, from->opportunistic ? 2 : 1, 34, 1, 'a',
        42, 9, 8, (uint8_t)from->count, 18, 5, 8, 128, 4, 16, 1, 50, 2, 8, 1};

    (void)memcpy(to->packed, bytes, sizeof bytes);
    return (ProtobufCBinaryData){sizeof bytes - from->damaged, to->packed};
}

/* They must reach the ResourceManager byte by byte. */
static void check_placements(const struct lend_fixture *l, const Masters__AllocateRequest *m)
{
    struct placement_bytes wanted;

    assert_int_equal(m->n_placements, l->n_placements);
    for (size_t i = 0; i < m->n_placements; i++) {
        const ProtobufCBinaryData b = make_placement(&l->placements[i], &wanted);

        assert_int_equal(m->placements[i].len, b.len);
        assert_memory_equal(m->placements[i].data, b.data, b.len);
    }
}

/* ---- what the ResourceManager gets ---------------------------------------------------------------- */

static nm_printf(3, 4) void add(char *text, size_t size, const char *format, ...)
{
    const size_t n = strlen(text);
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text + n, size - n, format, ap);
    va_end(ap);
}

static bool is_enforced(const Masters__Ask *m)
{
    return m->type && m->type->base.n_unknown_fields == 1 && m->type->base.unknown_fields[0].tag == 2;
}

static void note_sent(struct lend_fixture *l, const Masters__AllocateRequest *m)
{
    *l->sent = '\0';
    check_placements(l, m);
    for (size_t i = 0; i < m->n_asks; i++) {
        const Masters__Ask *a = m->asks[i];
        const bool opportunistic = a->type && a->type->execution_type == 2;

        assert_true(is_enforced(a)); /* in the opportunistic asks, too */
        add(l->sent, sizeof l->sent, "%s%d %s %s %d", i > 0 ? ", " : "", a->priority->priority,
            opportunistic ? "O" : "G", a->where, a->count);
        if (a->resource->memory != 512)
            add(l->sent, sizeof l->sent, " of %" PRId64, a->resource->memory);
    }
    for (size_t i = 0; i < m->n_releases; i++)
        add(l->sent, sizeof l->sent, "%s%" PRId64, i > 0 ? ", " : "; releases ", m->releases[i]->id);
    for (size_t i = 0; i < m->n_updates; i++) {
        const bool same = i > 0 && m->updates[i]->type == m->updates[i - 1]->type;

        if (m->updates[i]->type >= 2)
            assert_int_equal(m->updates[i]->execution_type, m->updates[i]->type - 1);
        else
            assert_int_equal(m->updates[i]->base.n_unknown_fields, 1);
        add(l->sent, sizeof l->sent, "%s%" PRId64 "/%d",
            same                       ? ", "
            : m->updates[i]->type == 2 ? "; promotes "
            : m->updates[i]->type == 3 ? "; demotes "
                                       : "; resizes ",
            m->updates[i]->id->id, m->updates[i]->version);
    }
    if (m->n_placements > 0)
        add(l->sent, sizeof l->sent, "; placements %zu", m->n_placements);
}

/* ---- what it answers ------------------------------------------------------------------------------ */

/* Messages of one answer. They are used up when the answer has been sent. */
static struct nm_arena answer_arena;

static void *make(size_t size)
{
    void *p = nm_arena_alloc(&answer_arena, size);

    assert_non_null(p);
    return p;
}

static Hadoop__ContainerId *make_id(const struct lend_fixture *l, int64_t number, int32_t attempt)
{
    const struct nm_yarn_container_id id = {{{TOKENS_RM, 1}, attempt > 0 ? attempt : l->attempt}, number};

    return nm_yarn_container_message_new(&answer_arena, &id);
}

static Masters__Container *make_container(const struct lend_fixture *l, const struct lend_container *from)
{
    Masters__Container *m = make(sizeof *m);

    *m = (Masters__Container)MASTERS__CONTAINER__INIT;
    m->id = make_id(l, from->number, from->attempt);
    m->node = make(sizeof *m->node);
    *m->node = (Hadoop__NodeId)HADOOP__NODE_ID__INIT;
    m->node->host = (char *)(from->host ?: TOKENS_HOST);
    m->node->has_port = 1;
    m->node->port = TOKENS_PORT;
    m->resource = make(sizeof *m->resource);
    *m->resource = (Hadoop__Resource)HADOOP__RESOURCE__INIT;
    m->resource->has_memory = m->resource->has_vcores = 1;
    m->resource->memory = from->memory ?: 512;
    m->resource->vcores = 1;
    m->priority = make(sizeof *m->priority);
    *m->priority = (Hadoop__Priority)HADOOP__PRIORITY__INIT;
    m->priority->has_priority = 1;
    m->priority->priority = from->priority ?: 20;
    m->has_execution_type = m->has_version = 1;
    m->execution_type = from->opportunistic ? 2 : 1;
    m->version = from->version;
    if (from->id > 0) {
        m->has_request_id = 1;
        m->request_id = from->id;
    }
    m->token = make(sizeof *m->token);
    *m->token = (Hadoop__Token)HADOOP__TOKEN__INIT;
    m->token->identifier = (ProtobufCBinaryData){9, (uint8_t *)"new token"};
    m->token->password = (ProtobufCBinaryData){6, (uint8_t *)"secret"};
    m->token->kind = (char *)NM_TOKEN_KIND_CONTAINER;
    m->token->service = (char *)"";
    return m;
}

static void add_ended(const struct lend_fixture *l, Masters__AllocateAnswer *answer)
{
    answer->ended = make((l->n_ended + 1) * sizeof *answer->ended);
    for (size_t i = 0; i < l->n_ended; i++) {
        Masters__Ended *m = answer->ended[i] = make(sizeof *m);

        *m = (Masters__Ended)MASTERS__ENDED__INIT;
        m->id = make_id(l, l->ended[i].number, l->ended[i].attempt);
        m->has_exit_status = m->has_execution_type = 1;
        m->exit_status = l->ended[i].status;
        m->execution_type = 2;
        m->diagnostics = (char *)l->ended[i].diagnostics;
    }
    answer->n_ended = l->n_ended;
}

static void add_errors(const struct lend_fixture *l, Masters__AllocateAnswer *answer)
{
    answer->update_errors = make((l->n_errors + 1) * sizeof *answer->update_errors);
    for (size_t i = 0; i < l->n_errors; i++) {
        Masters__UpdateError *m = answer->update_errors[i] = make(sizeof *m);

        *m = (Masters__UpdateError)MASTERS__UPDATE_ERROR__INIT;
        m->reason = (char *)l->errors[i].reason;
        m->ask = make(sizeof *m->ask);
        *m->ask = (Masters__UpdateAsk)MASTERS__UPDATE_ASK__INIT;
        m->ask->id = make_id(l, l->errors[i].number, 0);
        m->ask->has_type = m->ask->has_version = 1;
        m->ask->type = l->errors[i].type;
        m->has_current_version = l->errors[i].current_version > 0;
        m->current_version = l->errors[i].current_version;
    }
    answer->n_update_errors = l->n_errors;
}

static void add_updated(const struct lend_fixture *l, Masters__AllocateAnswer *answer)
{
    answer->updated = make((l->n_updated + 1) * sizeof *answer->updated);
    for (size_t i = 0; i < l->n_updated; i++) {
        Masters__Updated *m = answer->updated[i] = make(sizeof *m);

        *m = (Masters__Updated)MASTERS__UPDATED__INIT;
        m->has_type = 1;
        m->type = l->updated[i].update ?: 2;
        m->container = make_container(l, &l->updated[i]);
    }
    answer->n_updated = l->n_updated;
}

static void add_rejected(const struct lend_fixture *l, Masters__AllocateAnswer *answer)
{
    answer->rejected = make((l->n_rejected + 1) * sizeof *answer->rejected);
    for (size_t i = 0; i < l->n_rejected; i++) {
        const ProtobufCBinaryData b = make_placement(&l->rejected[i], make(sizeof(struct placement_bytes)));
        uint8_t *bytes = make(b.len + 4);

        (void)memcpy(bytes, (const uint8_t[]){8, 1, 18, (uint8_t)b.len}, 4);
        (void)memcpy(bytes + 4, b.data, b.len);
        answer->rejected[i] = (ProtobufCBinaryData){b.len + 4, bytes};
    }
    answer->n_rejected = l->n_rejected;
}

static Masters__Container **make_containers(const struct lend_fixture *l, const struct lend_container *from, size_t n)
{
    Masters__Container **list = make((n + 1) * sizeof *list);

    for (size_t i = 0; i < n; i++)
        list[i] = make_container(l, &from[i]);
    return list;
}

static void use_up(struct lend_fixture *l)
{
    if (!l->repeats && !l->w.refuses)
        l->n_granted = l->n_previous = l->n_updated = l->n_ended = l->n_errors = l->n_rejected = 0;
}

static void on_allocate(struct fixture *w, const Masters__AllocateRequest *request, Masters__AllocateAnswer *answer)
{
    struct lend_fixture *l = w->userdata;
    const unsigned kinds = fail_pause();

    note_sent(l, request);
    if (l->on_call && (!w->refuses || l->decides))
        l->on_call(l, request);
    nm_arena_done(&answer_arena);
    nm_arena_init(&answer_arena, 8 * NM_MIB, NULL);
    answer->containers = make_containers(l, l->granted, l->n_granted);
    answer->n_containers = l->n_granted;
    answer->previous = make_containers(l, l->previous, l->n_previous);
    answer->n_previous = l->n_previous;
    add_ended(l, answer);
    add_updated(l, answer);
    add_errors(l, answer);
    add_rejected(l, answer);
    if (l->headroom >= 0) {
        answer->headroom = make(sizeof *answer->headroom);
        *answer->headroom = (Hadoop__Resource)HADOOP__RESOURCE__INIT;
        answer->headroom->has_memory = answer->headroom->has_vcores = 1;
        answer->headroom->memory = l->headroom;
        answer->headroom->vcores = l->headroom_has_no_vcores ? 0 : 100;
    }
    use_up(l);
    fail_resume(kinds);
}

static void on_register(struct fixture *w, Masters__RegisterMasterAnswer *answer)
{
    static int32_t types[] = {0, 1};
    struct lend_fixture *l = w->userdata;
    const unsigned kinds = fail_pause();

    nm_arena_done(&answer_arena);
    nm_arena_init(&answer_arena, 8 * NM_MIB, NULL);
    answer->queue = (char *)l->queue;
    answer->previous = make_containers(l, l->previous, l->n_previous);
    answer->n_previous = l->n_previous;
    answer->resource_types = types;
    answer->n_resource_types = (size_t)l->resource_types;
    if (!l->w.refuses)
        l->n_previous = 0;
    fail_resume(kinds);
}

/* ---- the master ----------------------------------------------------------------------------------- */

void lend_ask(struct lend_fixture *l, struct lend_ask ask)
{
    assert_true(l->n_asks < LEND_LIST_MAX);
    l->asks[l->n_asks++] = ask;
}

void lend_want(struct lend_fixture *l, int32_t priority, int32_t count)
{
    lend_ask(l, (struct lend_ask){.priority = priority, .count = count});
}

void lend_end(struct lend_fixture *l, int64_t number, int32_t status, const char *diagnostics)
{
    assert_true(l->n_ended < NM_ARRAY_SIZE(l->ended));
    l->ended[l->n_ended++] = (struct lend_end){.number = number, .status = status, .diagnostics = diagnostics};
}

void lend_grant(struct lend_fixture *l, int64_t number, bool opportunistic)
{
    assert_true(l->n_granted < LEND_LIST_MAX);
    l->granted[l->n_granted++] = (struct lend_container){.number = number, .opportunistic = opportunistic};
}

/* All messages of one ask, as Java makes them: the map of resources is there, and the field enforce_execution_type. */
struct ask_messages {
    Masters__Ask ask;
    Hadoop__Priority priority;
    Hadoop__Resource resource;
    Hadoop__ResourceValue values[3], *list[3];
    Masters__ExecutionTypeAsked type;
    ProtobufCMessageUnknownField enforced;
};

static void make_ask(const struct lend_ask *from, struct ask_messages *m)
{
    static uint8_t yes[] = {1};

    *m = (struct ask_messages){
        .ask = MASTERS__ASK__INIT, .priority = HADOOP__PRIORITY__INIT, .resource = HADOOP__RESOURCE__INIT,
        .values = {HADOOP__RESOURCE_VALUE__INIT, HADOOP__RESOURCE_VALUE__INIT, HADOOP__RESOURCE_VALUE__INIT},
        .type = MASTERS__EXECUTION_TYPE_ASKED__INIT,
        .enforced = {2, PROTOBUF_C_WIRE_TYPE_VARINT, sizeof yes, yes}};
    m->ask.priority = &m->priority;
    m->priority.has_priority = m->ask.has_count = m->ask.has_relax = 1;
    m->resource.has_memory = m->resource.has_vcores = 1;
    m->priority.priority = from->priority;
    m->ask.where = (char *)(from->where ?: "*");
    m->ask.resource = &m->resource;
    m->resource.memory = from->memory ?: 512;
    m->resource.vcores = 1;
    for (size_t i = 0; i < NM_ARRAY_SIZE(m->values); i++) {
        m->list[i] = &m->values[i];
        m->values[i].has_value = 1;
        m->values[i].value = i == 0 ? m->resource.memory : 1;
    }
    m->values[0].name = (char *)"memory-mb";
    m->values[1].name = (char *)"vcores";
    m->values[2].name = (char *)from->other;
    m->resource.values = m->list;
    m->resource.n_values = from->other ? 3 : 2;
    m->ask.count = from->count;
    m->ask.relax = !from->strict;
    m->ask.partition = (char *)from->label;
    m->ask.type = &m->type;
    m->type.has_execution_type = 1;
    m->type.execution_type = from->opportunistic ? 2 : 1;
    m->type.base.n_unknown_fields = 1;
    m->type.base.unknown_fields = &m->enforced;
    if (from->id > 0) {
        m->ask.has_request_id = 1;
        m->ask.request_id = from->id;
    }
}

/* All messages of one request for another size. nmd doesn't know the field of the size. */
struct resize_messages {
    Masters__UpdateAsk ask;
    struct nm_yarn_container_message id;
    ProtobufCMessageUnknownField size;
};

static void make_resize(const struct lend_fixture *l, const struct lend_resize *from, struct resize_messages *m)
{
    static uint8_t empty[] = {0};
    const struct nm_yarn_container_id id = {{{TOKENS_RM, 1}, from->attempt ?: l->attempt}, from->number};

    *m = (struct resize_messages){
        .ask = MASTERS__UPDATE_ASK__INIT, .size = {4, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, sizeof empty, empty}};
    m->ask.id = nm_yarn_container_message_set(&m->id, &id);
    m->ask.has_version = m->ask.has_type = 1;
    m->ask.version = from->version;
    m->ask.type = from->type; /* 0: INCREASE_RESOURCE */
    if (from->type >= 2) {
        m->ask.has_execution_type = 1;
        m->ask.execution_type = from->type - 1;
        return;
    }
    m->ask.base.n_unknown_fields = 1;
    m->ask.base.unknown_fields = &m->size;
}

static void begin_call(struct lend_fixture *l)
{
    static struct ask_messages messages[LEND_LIST_MAX];
    static Masters__Ask *list[LEND_LIST_MAX];
    struct resize_messages resizes[NM_ARRAY_SIZE(l->resizes)];
    Masters__UpdateAsk *updates[NM_ARRAY_SIZE(l->resizes)];
    struct placement_bytes placements[NM_ARRAY_SIZE(l->placements)];
    ProtobufCBinaryData packed[NM_ARRAY_SIZE(l->placements)];
    Masters__AllocateRequest m = MASTERS__ALLOCATE_REQUEST__INIT;

    for (size_t i = 0; i < l->n_asks; i++) {
        make_ask(&l->asks[i], &messages[i]);
        list[i] = &messages[i].ask;
    }
    for (size_t i = 0; i < l->n_resizes; i++) {
        make_resize(l, &l->resizes[i], &resizes[i]);
        updates[i] = &resizes[i].ask;
    }
    for (size_t i = 0; i < l->n_placements; i++)
        packed[i] = make_placement(&l->placements[i], &placements[i]);
    m.placements = packed;
    m.n_placements = l->n_placements;
    m.asks = list;
    m.n_asks = l->n_asks;
    m.updates = updates;
    m.n_updates = l->n_resizes;
    m.has_response_id = 1;
    m.response_id = l->response_id;
    proxy_begin_call(&l->w, "allocate", &m.base, &masters__allocate_answer__descriptor);
}

const char *lend_call_again(struct lend_fixture *l)
{
    (void)strcpy(l->sent, "nothing");
    begin_call(l);
    proxy_run_until(&l->w, proxy_is_done);
    if (l->w.answer)
        l->n_asks = l->n_resizes = l->n_placements = 0; /* a master repeats its asks until it gets an answer */
    return l->sent;
}

void lend_begin_call(struct lend_fixture *l)
{
    l->response_id++;
    begin_call(l);
}

const char *lend_call(struct lend_fixture *l)
{
    l->response_id++;
    return lend_call_again(l);
}

static void add_containers(struct lend_fixture *l, const char *what, Masters__Container *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add(l->seen, sizeof l->seen, "%s%" PRId64 " %s", i > 0 ? ", " : what, list[i]->id->id,
            list[i]->execution_type == 2 ? "O" : "G");
}

const char *lend_seen(struct lend_fixture *l)
{
    const Masters__AllocateAnswer *m = (const Masters__AllocateAnswer *)l->w.answer;

    *l->seen = '\0';
    if (!m)
        return "no answer";
    add_containers(l, "", m->containers, m->n_containers);
    for (size_t i = 0; i < m->n_ended; i++)
        add(l->seen, sizeof l->seen, "%s%" PRId64 " %d %s %s", i > 0 ? ", " : "; ended ", m->ended[i]->id->id,
            m->ended[i]->exit_status, m->ended[i]->execution_type == 2 ? "O" : "G", m->ended[i]->diagnostics ?: "-");
    add_containers(l, "; previous ", m->previous, m->n_previous);
    for (size_t i = 0; i < m->n_updated; i++)
        add(l->seen, sizeof l->seen, "%s%" PRId64 "%s", i > 0 ? ", " : "; updated ", m->updated[i]->container->id->id,
            m->updated[i]->container->execution_type == 2 ? " O" : "");
    for (size_t i = 0; i < m->n_update_errors; i++)
        add(l->seen, sizeof l->seen, "%s%" PRId64, i > 0 ? ", " : "; errors ", m->update_errors[i]->ask->id->id);
    if (m->n_rejected > 0)
        add(l->seen, sizeof l->seen, "; rejected %zu", m->n_rejected);
    return l->seen;
}

const char *lend_seen_previous(struct lend_fixture *l)
{
    const Masters__RegisterMasterAnswer *m = (const Masters__RegisterMasterAnswer *)l->w.answer;

    *l->seen = '\0';
    add_containers(l, "", m->previous, m->n_previous);
    return l->seen;
}

struct nm_lend_figures lend_figures(const struct lend_fixture *l)
{
    return nm_lend_figures(l->lender->books);
}

/* ---- the course of a test ------------------------------------------------------------------------- */

void lend_set_up(struct lend_fixture *l, bool distributed, const char *rule)
{
    static char *types[] = {(char *)"MAPREDUCE", (char *)"SPARK", NULL};
    struct nm_yarn_lending *s = &l->w.settings.lending;

    *l = (struct lend_fixture){.headroom = -1, .queue = "root.a"};
    here = l;
    forward_usec = 0;
    (void)memset(&pending, 0, sizeof pending);
    proxy_set_up(&l->w, distributed);
    l->w.proxy = nm_yarn_proxy_free(l->w.proxy);
    *s = (struct nm_yarn_lending){.enabled = true, .central = true, .types = types, .application_max_mib = -1,
                                  .queue_max_mib = -1, .node_max_mib = -1};
    if (strcmp(rule, "observe") == 0)
        s->observes = true;
    assert_int_equal(nm_yarn_lending_parse(s->observes ? "overflow:30" : rule, &s->cluster), 0);
    l->w.userdata = l;
    l->w.on_allocate = on_allocate;
    l->w.on_register = on_register;
    proxy_start(&l->w);
}

void lend_tear_down(struct lend_fixture *l)
{
    proxy_tear_down(&l->w);
    nm_arena_done(&answer_arena);
    here = NULL;
}

void lend_register(struct lend_fixture *l)
{
    proxy_register_master(&l->w);
    l->response_id = -1;
}

void lend_launch(struct lend_fixture *l, int32_t attempt)
{
    const unsigned before = l->type_questions;

    l->attempt = attempt;
    proxy_launch(&l->w, attempt);
    if (attempt == 1) {
        lend_run_until(l, &l->type_questions, before + 1);
        lend_tell_type(l, "MAPREDUCE");
    }
    lend_register(l);
}

void lend_restart(struct lend_fixture *l)
{
    l->w.proxy = nm_yarn_proxy_free(l->w.proxy);
    l->w.client = nm_hadoop_client_free(l->w.client);
    proxy_start(&l->w);
}
