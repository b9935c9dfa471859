/* SPDX-License-Identifier: Apache-2.0 */

#include "http-fixture.h"

#include <dirent.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>


int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    strcpy(f->dir, "/tmp/nm-test-http-XXXXXX");
    if (!mkdtemp(f->dir) || chmod(f->dir, 0755) < 0 || sd_event_new(&f->event) < 0)
        return -1;
    (void)snprintf(f->path, sizeof f->path, "%s/nmd.sock", f->dir);
    f->m = fake_manager_new();
    f->m->log_dir = f->dir;
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    DIR *d;

    stop(f);
    d = opendir(f->dir);
    for (struct dirent *e; d && (e = readdir(d));)
        (void)unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    assert_int_equal(rmdir(f->dir), 0);
    fake_manager_free(f->m);
    sd_event_unref(f->event);
    free(f);
    return 0;
}

void start(struct fixture *f, const struct nm_local_server_params *p)
{
    struct nm_local_server_params params = p ? *p : (struct nm_local_server_params){};
    char *message = NULL;

    params.socket_path = f->path;
    params.socket_mode = params.socket_mode ? params.socket_mode : 0666;
    /* The default is so long that only tests of the timeout reach it, even on a slow machine. */
    params.timeout_usec = params.timeout_usec ? params.timeout_usec : 20 * DEADLINE_USEC;
    if (nm_local_server_new(f->event, f->m, &params, &f->server, &message) < 0)
        fail_msg("%s", message);
    (void)sd_event_run(f->event, 0); /* sd-event closes a descriptor that setting a priority has replaced */
}

void stop(struct fixture *f)
{
    f->server = nm_local_server_free(f->server);
}

void take(struct client *c)
{
    char buf[65536];

    while (!c->eof) {
        ssize_t n = recv(c->fd, buf, sizeof buf, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) { /* a reset counts as the end, too */
            c->eof = true;
            return;
        }
        c->data = realloc(c->data, c->len + (size_t)n + 1);
        memcpy(c->data + c->len, buf, (size_t)n);
        c->len += (size_t)n;
        c->data[c->len] = '\0';
    }
}

void turn(struct client *c)
{
    if (sd_event_run(c->f->event, 2000) < 0)
        fail();
    take(c);
}

void turn_for(struct client *c, uint64_t usec)
{
    uint64_t end = nm_now_usec() + usec;

    while (nm_now_usec() < end)
        turn(c);
}

void client_connect(struct fixture *f, struct client *c)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};

    *c = (struct client){
        .f = f, .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), .data = calloc(1, 1)};
    strcpy(sa.sun_path, f->path);
    assert_true(c->fd >= 0);
    if (connect(c->fd, (struct sockaddr *)&sa, sizeof sa) < 0)
        fail_msg("connect: %s", strerror(errno));
}

/* Changes the effective ids during connect() alone, because SO_PEERCRED reports the ids at the time of that call. */
void client_connect_as(struct fixture *f, struct client *c, uid_t uid, gid_t group)
{
    assert_int_equal(setgroups(1, &group), 0);
    assert_int_equal(setegid(uid), 0);
    assert_int_equal(seteuid(uid), 0);
    client_connect(f, c);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
    assert_int_equal(setgroups(0, NULL), 0);
}

void client_send(struct client *c, const char *format, ...)
{
    _cleanup_free_ char *text = NULL;
    size_t sent = 0, len;
    va_list ap;

    va_start(ap, format);
    assert_true(vasprintf(&text, format, ap) >= 0);
    va_end(ap);
    for (len = strlen(text); sent < len && !c->eof;) {
        ssize_t n = send(c->fd, text + sent, len - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0)
            sent += (size_t)n;
        else
            turn(c);
        if (n < 0 && errno != EAGAIN)
            return;
    }
}

void client_close(struct client *c)
{
    c->fd = nm_close(c->fd);
    free(STEAL_PTR(c->data));
}

int client_status(const struct client *c)
{
    int status = 0;

    return sscanf(c->data, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}

const char *client_body(const struct client *c)
{
    const char *end = strstr(c->data, "\r\n\r\n");

    return end ? end + 4 : NULL;
}

char *client_content(const struct client *c)
{
    const char *p = client_body(c);
    char *out = calloc(1, c->len + 1), *to = out;

    while (p && *p) {
        char *end;
        size_t n = strtoul(p, &end, 16);
        if (n == 0 || end[0] != '\r' || strlen(end) < n + 2)
            break;
        memcpy(to, end + 2, n);
        to += n;
        p = end + 2 + n + 2;
    }
    return out;
}

const char *client_header(const struct client *c, const char *name)
{
    static char value[256];
    char wanted[64];
    const char *p;

    (void)snprintf(wanted, sizeof wanted, "\r\n%s: ", name);
    p = strcasestr(c->data, wanted);
    if (!p || p > client_body(c))
        return NULL;
    p += strlen(wanted);
    (void)snprintf(value, sizeof value, "%.*s", (int)strcspn(p, "\r"), p);
    return value;
}

static int exchange(struct client *c, const char *method, const char *target, const char *body,
                    json_t **ret)
{
    int status;

    if (body)
        client_send(
            c,
            "%s %s HTTP/1.1\r\nHost: nmd\r\nConnection: close\r\nContent-Type: application/json\r\n"
            "Content-Length: %zu\r\n\r\n%s",
            method, target, strlen(body), body);
    else
        client_send(c, "%s %s HTTP/1.1\r\nHost: nmd\r\nConnection: close\r\n\r\n", method, target);
    until(c, c->eof);
    status = client_status(c);
    if (ret) {
        bool chunked = client_header(c, "Transfer-Encoding");
        _cleanup_free_ char *content = chunked ? client_content(c) : strdup(client_body(c));
        json_error_t e;

        *ret = json_loads(content, 0, &e);
        if (!*ret)
            fail_msg("%s %s: the answer is not JSON: %s", method, target, c->data);
    }
    client_close(c);
    return status;
}

int request(struct fixture *f, const char *method, const char *target, const char *body,
            json_t **ret)
{
    struct client c;

    client_connect(f, &c);
    return exchange(&c, method, target, body, ret);
}

int request_as(struct fixture *f, uid_t uid, const char *method, const char *target,
               const char *body, json_t **ret)
{
    struct client c;

    client_connect_as(f, &c, uid, uid);
    return exchange(&c, method, target, body, ret);
}

void follow(struct fixture *f, struct client *c, const char *target)
{
    client_connect(f, c);
    client_send(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", target);
    until(c, client_body(c));
    assert_int_equal(client_status(c), 200);
}

void assert_content(const struct client *c, const char *expected)
{
    _cleanup_free_ char *got = client_content(c);

    assert_string_equal(got, expected);
}

void append_log(struct fixture *f, const struct nm_container *con, const char *text)
{
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s.stdout", f->dir, con->id);
    file = fopen(path, "ae");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

int get_logs(struct fixture *f, const char *target, char *buf, size_t size)
{
    struct client c;
    int status;

    client_connect(f, &c);
    client_send(&c, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target);
    until(&c, c.eof);
    status = client_status(&c);
    (void)snprintf(buf, size, "%s", client_body(&c));
    client_close(&c);
    return status;
}

void assert_error(json_t *j, const char *code, const char *thing, const char *message)
{
    json_t *e = json_object_get(j, "error");

    if (!e)
        fail_msg("the answer has no member \"error\"");
    assert_string_equal(json_string_value(json_object_get(e, "code")), code);
    assert_string_equal(json_string_value(json_object_get(e, "thing")), thing);
    assert_true(json_is_string(json_object_get(e, "value")));
    if (message)
        assert_string_equal(json_string_value(json_object_get(e, "message")), message);
    json_decref(j);
}

unsigned n_open_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}
