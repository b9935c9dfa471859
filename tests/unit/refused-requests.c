/* SPDX-License-Identifier: Apache-2.0 */

#include "refused-requests.h"

#include <microhttpd.h>
#include <sys/socket.h>

/* ---- other allocations ----------------------------------------------------------------------- */

FILE *__real_open_memstream(char **text, size_t *len);
FILE *__wrap_open_memstream(char **text, size_t *len);
struct MHD_Response *__real_MHD_create_response_from_buffer(size_t size, void *buffer, enum MHD_ResponseMemoryMode m);
struct MHD_Response *__wrap_MHD_create_response_from_buffer(size_t size, void *buffer, enum MHD_ResponseMemoryMode m);
struct MHD_Response *__real_MHD_create_response_from_buffer_with_free_callback_cls(
    size_t size, void *buffer, MHD_ContentReaderFreeCallback done, void *userdata);
struct MHD_Response *__wrap_MHD_create_response_from_buffer_with_free_callback_cls(
    size_t size, void *buffer, MHD_ContentReaderFreeCallback done, void *userdata);
struct MHD_Response *__real_MHD_create_response_from_callback(uint64_t size, size_t block,
                                                              MHD_ContentReaderCallback reader, void *userdata,
                                                              MHD_ContentReaderFreeCallback done);
struct MHD_Response *__wrap_MHD_create_response_from_callback(uint64_t size, size_t block,
                                                              MHD_ContentReaderCallback reader, void *userdata,
                                                              MHD_ContentReaderFreeCallback done);
struct MHD_Response *__real_MHD_create_response_for_upgrade(MHD_UpgradeHandler handler, void *userdata);
struct MHD_Response *__wrap_MHD_create_response_for_upgrade(MHD_UpgradeHandler handler, void *userdata);
enum MHD_Result __real_MHD_add_response_header(struct MHD_Response *r, const char *name, const char *value);
enum MHD_Result __wrap_MHD_add_response_header(struct MHD_Response *r, const char *name, const char *value);

FILE *__wrap_open_memstream(char **text, size_t *len)
{
    return fail_here(FAIL_MEMORY) ? NULL : __real_open_memstream(text, len);
}

struct MHD_Response *__wrap_MHD_create_response_from_buffer(size_t size, void *buffer, enum MHD_ResponseMemoryMode m)
{
    return fail_here(FAIL_MEMORY) ? NULL : __real_MHD_create_response_from_buffer(size, buffer, m);
}

struct MHD_Response *__wrap_MHD_create_response_from_buffer_with_free_callback_cls(
    size_t size, void *buffer, MHD_ContentReaderFreeCallback done, void *userdata)
{
    return fail_here(FAIL_MEMORY)
               ? NULL
               : __real_MHD_create_response_from_buffer_with_free_callback_cls(size, buffer, done, userdata);
}

struct MHD_Response *__wrap_MHD_create_response_from_callback(uint64_t size, size_t block,
                                                              MHD_ContentReaderCallback reader, void *userdata,
                                                              MHD_ContentReaderFreeCallback done)
{
    return fail_here(FAIL_MEMORY) ? NULL
                                  : __real_MHD_create_response_from_callback(size, block, reader, userdata, done);
}

struct MHD_Response *__wrap_MHD_create_response_for_upgrade(MHD_UpgradeHandler handler, void *userdata)
{
    return fail_here(FAIL_MEMORY) ? NULL : __real_MHD_create_response_for_upgrade(handler, userdata);
}

enum MHD_Result __wrap_MHD_add_response_header(struct MHD_Response *r, const char *name, const char *value)
{
    return fail_here(FAIL_MEMORY) ? MHD_NO : __real_MHD_add_response_header(r, name, value);
}

/* ---- requests -------------------------------------------------------------------------------- */

void send_request(struct fixture *f, struct client *c, const struct request *a)
{
    const char *body = a->body ? a->body : "";

    client_connect(f, c);
    client_send(c,
                "%s %s HTTP/1.1\r\nHost: x\r\nConnection: %s\r\n%s%s%sContent-Type: application/json\r\n"
                "Content-Length: %zu\r\n\r\n%s",
                a->method, a->target, a->upgrade ? "Upgrade" : "close", a->upgrade ? "Upgrade: " : "",
                a->upgrade ? a->upgrade : "", a->upgrade ? "\r\n" : "", strlen(body), body);
}

int turn_with_failures(struct client *c, unsigned kinds)
{
    int r;

    fail_resume(kinds);
    r = sd_event_run(c->f->event, 1000);
    (void)fail_pause();
    assert_true(r >= 0);
    take(c);
    return r;
}

/* Serves until the connection has ended. For a client that waits for the container's end, the container ends after all
 * other work is done. Returns whether the nth allocation was refused. */
static bool serve(struct client *c, const struct request *a, unsigned n)
{
    struct nm_container *con = c->f->m->containers[0];
    uint64_t end = nm_now_usec() + DEADLINE_USEC;
    unsigned kinds;

    fail_nth(ALL_KINDS, n);
    kinds = fail_pause();
    while (!c->eof) {
        int r = turn_with_failures(c, kinds);

        if (nm_now_usec() > end)
            fail_msg("the answer does not end after refusal %u; received: %s", n, c->data);
        if (a->upgrade && client_body(c) && client_status(c) != 101)
            (void)shutdown(c->fd, SHUT_WR); /* after a refusal the server would keep the connection for the next
                                               request */
        if (r == 0 && a->waits && con->view.state != NM_COMPLETED)
            fake_manager_set_state(c->f->m, con, NM_COMPLETED);
    }
    return fail_stop();
}

static void assert_json(const char *text)
{
    json_error_t e;
    json_t *j = json_loads(text, 0, &e);

    if (!j)
        fail_msg("%s in %s", e.text, text);
    json_decref(j);
}

/* Returns the content of a complete answer. NULL: the answer was cut off, which the client can detect. */
static char *whole_content(const struct client *c)
{
    char *content;

    if (!client_header(c, "Transfer-Encoding")) {
        content = strdup(client_body(c));
        if (client_header(c, "Content-Length"))
            assert_int_equal(strlen(content), strtoul(client_header(c, "Content-Length"), NULL, 10));
        return content;
    }
    return strstr(c->data, "\r\n0\r\n\r\n") ? client_content(c) : NULL;
}

/* jansson reports a failed allocation for a string as a syntax error in the text, and the caller can't distinguish
 * these errors. */
static bool is_parsers_mistake(const struct request *a, int status)
{
    return a->body && status == 400;
}

/* done: the action was carried out, and only its result could not be sent. The refusal must state this. */
static void assert_refusal(const struct request *a, int status, const char *content, bool done)
{
    assert_int_equal(strstr(content, "The request was carried out") != NULL, done);
    if (strncmp(a->target, "/ws/", 4) == 0)
        assert_non_null(strstr(content, "\"RemoteException\""));
    else if (status == 400)
        assert_error(json_loads(content, 0, NULL), "invalid", "body", NULL);
    else if (status == 503)
        assert_error(json_loads(content, 0, NULL), "unavailable", "memory", NULL);
    else
        assert_error(json_loads(content, 0, NULL), "internal", "nmd", NULL);
}

/* Returns the content of a complete answer with the expected status, or NULL. */
static char *check_answer(const struct client *c, const struct request *a, bool refused, bool done)
{
    const char *type = client_header(c, "Content-Type");
    bool is_json = type && strstr(type, "/json");
    int status = client_status(c);
    char *content;

    if (status != a->status &&
        !(refused && (status == 0 || status == 500 || status == 503 || is_parsers_mistake(a, status))))
        fail_msg("%s %s: %s", a->method, a->target, c->data);
    if (status == 0) {
        assert_int_equal(c->len, 0);
        return NULL;
    }
    content = whole_content(c);
    assert_true(content || refused);
    if (content && is_json)
        assert_json(content);
    if (status == a->status)
        return content;
    assert_refusal(a, status, content, done);
    free(content);
    return NULL;
}

static void drop_new_containers(struct nm_manager *m)
{
    while (m->n_containers > 1)
        nm_container_free(m->containers[--m->n_containers]);
    m->containers[0]->view.state = NM_RUNNING;
}

char *request_with_refusal(struct fixture *f, const struct request *a, unsigned n, bool *ret_refused)
{
    unsigned n_done = f->m->n_done;
    struct client c;
    char *content;

    send_request(f, &c, a);
    *ret_refused = serve(&c, a, n);
    content = check_answer(&c, a, *ret_refused, f->m->n_done > n_done);
    client_close(&c);
    drop_new_containers(f->m);
    return content;
}

unsigned each_refusal(struct fixture *f, const struct request *a, bool same)
{
    const struct request version = {"GET", "/v1/version", NULL, 200, NULL, false};
    bool refused;
    _cleanup_free_ char *good = request_with_refusal(f, a, 0, &refused);
    unsigned before = n_open_fds(), n;

    for (refused = true, n = 1; refused; n++) {
        _cleanup_free_ char *got = request_with_refusal(f, a, n, &refused);

        if (same && got)
            assert_string_equal(got, good);
        free(request_with_refusal(f, &version, 0, &(bool){false}));
        assert_int_equal(n_open_fds(), before);
    }
    return n - 2;
}

void add_one_of_each(struct fixture *f)
{
    static const char *const argv[] = {"sh", "-c", "exit \xff", NULL};
    struct nm_container *con = fake_manager_add(f->m, "web", 0);

    con->command.argv = nm_strv_pack(argv, 3);
    con->started_realtime_usec = nm_realtime_usec();
    f->m->decisions[f->m->n_decisions++] = (struct nm_decision){
        .number = 1, .kind = NM_DECISION_PAUSE, .reason = NM_REASON_CPU_OVER_BETA, .resource = NM_CPU,
        .container_id = "container_1_000001", .capacity = {1000, 1000}, .n_candidates = 1, .n_candidates_total = 1,
    };
    strcpy(f->m->decisions[0].candidates[0].id, "container_1_000001");
    f->m->details = json_pack("{s:{s:[{s:s, s:s}]}}", "masters", "pipelines", "application", "application_1_1", "user",
                              "alice");
    f->m->placement = json_pack("{s:s}", "container_id", "container_1");
    f->m->status.n_notes = 1;
    strcpy(f->m->status.notes[0], "a note");
    f->m->status.n_links = 1;
    strcpy(f->m->status.links[0].name, "eth0");
    f->m->status.upstream.kind = "yarn";
    f->m->status.upstream.state = "running";
    fake_manager_note(f->m, "begun");
    fake_manager_note(f->m, "went on");
    for (uint64_t i = 1; i <= 18; i++)
        nm_history_add(f->m->history,
                       &(struct nm_history_point){.at_usec = i * NM_USEC_PER_SEC, .realtime_usec = i});
    append_log(f, con, "one\ntwo\n");
}
