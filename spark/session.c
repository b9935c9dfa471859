/* SPDX-License-Identifier: Apache-2.0 */

/* See session.h. */

#include "spark/session.h"

#include <errno.h>
#include <stdlib.h>

#include "util/macros.h"

#define WHY_SIZE 512u
#define DIRS_BYTES_MAX (8u << 20) /* directories of the executors that one message names */
/* Memory that is taken at once for an answer with directories. They are copied twice, to memory that may be doubled. */
#define DIRS_STEP_BYTES (8u << 10)
#define DIRS_COPIES 6u

/* The answer that is being made. */
struct turn {
    struct nm_spark_session *session;
    struct nm_spark_frame frame;
    struct nm_writer *w;
    struct nm_spark_answer answer;
    uint64_t reserved_bytes;
};

void nm_spark_session_init(struct nm_spark_session *s, struct nm_spark_applications *applications,
                           const struct nm_spark_auth_settings *settings)
{
    *s = (struct nm_spark_session){.applications = applications, .has_room = true};
    nm_spark_auth_init(&s->auth, settings);
}

void nm_spark_session_done(struct nm_spark_session *s)
{
    nm_spark_streams_done(&s->streams);
}

static int reserve(struct turn *t, uint64_t bytes)
{
    const struct nm_spark_reserve *reserve = t->session->reserve;

    return reserve ? reserve->take(bytes, reserve->userdata) : 0;
}

static int fail(struct turn *t, const char *why)
{
    nm_spark_put_failure(t->w, &t->frame, why);
    return 0;
}

/* Fails a request for a block. */
static int miss(struct turn *t, const char *why)
{
    t->answer.has_failed = true;
    return fail(t, why);
}

/* Returns whether the server lacks something now, and not the data. */
static bool is_of_the_server(int error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EAGAIN || error == -EINTR;
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* The text names no path, because not only the node's administrator reads an executor's log. */
static const char *describe(int error)
{
    switch (error) {
    case -ENOENT: return "there is no such file";
    case -EPERM:
    case -ELOOP: return "it is not a file of the application's user";
    case -ERANGE: return "the map has no such reducer";
    case -EBADMSG: return "its index doesn't match its file";
    default: return strerror(-error);
    }
}

static int fail_block(struct turn *t, const struct nm_spark_request *q, int error)
{
    const struct nm_spark_file file = {q->block.kind == NM_SPARK_BLOCK_RDD ? NM_SPARK_FILE_RDD : NM_SPARK_FILE_DATA,
                                       q->block.set, q->block.part};
    char why[WHY_SIZE], name[NM_SPARK_FILE_NAME_SIZE];

    nm_spark_file_name(&file, name);
    (void)snprintf(why, sizeof why, "Failed to open file: %s of executor %s: %s", name, q->exec, describe(error));
    return miss(t, why);
}

/* Opens the block. The application may have ended since the stream was opened. */
static int open_block(struct turn *t, const struct nm_spark_request *q, struct nm_spark_part *ret)
{
    struct nm_spark_session *s = t->session;
    const struct nm_spark_local_dirs *locals = nm_spark_applications_locals(s->applications);
    struct nm_spark_executor executor;
    int r = nm_spark_applications_executor(s->applications, q->app, q->exec, &executor);
    const struct nm_spark_lookup lookup = {
        locals, &s->application, {executor.dirs, executor.n, executor.n_sub_dirs}, s->lookups};

    return r < 0 ? -ESRCH : nm_spark_block_open(&lookup, &q->block, ret);
}

static int send_block(struct turn *t, const struct nm_spark_request *q)
{
    const bool is_chunk = t->frame.type == NM_SPARK_FRAME_CHUNK;
    struct nm_spark_part part = {.fd = -EBADF};
    char why[WHY_SIZE];
    int r = open_block(t, q, &part);

    if (is_of_the_server(r))
        return r;
    if (r == -ESRCH) {
        (void)snprintf(why, sizeof why, "Executor is not registered (appId=%s, execId=%s)", q->app, q->exec);
        return miss(t, why);
    }
    if (r == 0 && is_chunk && part.bytes > NM_SPARK_FRAME_BODY_MAX) {
        nm_spark_part_close(&part);
        r = -EFBIG;
    }
    if (r < 0)
        return fail_block(t, q, r);
    if (is_chunk)
        nm_spark_put_chunk(t->w, t->frame.id, t->frame.chunk, part.bytes);
    else
        nm_spark_put_stream(t->w, t->frame.name, part.bytes);
    t->answer.part = part;
    return 0;
}

static int answer_chunk(struct turn *t)
{
    struct nm_spark_request q;
    int r;

    if (!t->session->has_room)
        return -EBUSY;
    r = nm_spark_streams_take(&t->session->streams, t->frame.id, t->frame.chunk, &q);

    if (r == -ENOENT)
        return miss(t, "Stream not found: it has ended, or belongs to another connection");
    if (r < 0)
        return miss(t, "Chunks must be requested in their order, each once");
    return send_block(t, &q);
}

/* ---- messages ----------------------------------------------------------------------------- */

static int reply(struct turn *t, struct nm_writer *message)
{
    struct nm_bytes bytes;
    int r = nm_writer_result(message, &bytes);

    if (r == 0)
        nm_spark_put_reply(t->w, t->frame.id, bytes);
    nm_writer_done(message);
    return r;
}

/* Copies the message, because the stream refers to it. */
static int answer_open(struct turn *t)
{
    _cleanup_free_ uint8_t *copy = NULL;
    struct nm_spark_message m;
    struct nm_writer w = {};
    const char *why;
    int64_t id;
    int r = reserve(t, t->frame.body.size);

    if (r < 0)
        return r;
    if (!(copy = malloc(t->frame.body.size)))
        return -ENOMEM;
    (void)memcpy(copy, t->frame.body.data, t->frame.body.size);
    if ((r = nm_spark_message_parse((struct nm_bytes){copy, t->frame.body.size}, &m, &why)) < 0)
        return r;
    r = nm_spark_streams_open(&t->session->streams, &m, copy, t->frame.body.size, &id);
    if (r == -EBADMSG)
        return fail(t, "The id of the executor is not valid");
    if (r < 0)
        return r;
    (void)STEAL_PTR(copy);
    nm_spark_put_handle(&w, id, m.blocks.n_chunks);
    return reply(t, &w);
}

static int answer_register(struct turn *t)
{
    struct nm_writer w = {};
    const char *why;
    int r = nm_spark_applications_register(t->session->applications, t->frame.body, &why);

    return r < 0 ? fail(t, why) : reply(t, &w);
}

/* The server cannot write to the directories of users. nmd removes the files with the application's other files. */
static int answer_remove(struct turn *t)
{
    struct nm_writer w = {};

    nm_spark_put_removed(&w, 0);
    return reply(t, &w);
}

/* Takes memory for further directories. */
static int reserve_dirs(struct turn *t, const struct nm_spark_dirs_reply *dirs)
{
    const uint64_t bytes = dirs->execs.size + dirs->counts.size + dirs->dirs.size;
    int r;

    for (; bytes >= t->reserved_bytes; t->reserved_bytes += DIRS_STEP_BYTES)
        if ((r = reserve(t, DIRS_COPIES * DIRS_STEP_BYTES)) < 0)
            return r;
    return 0;
}

/* Adds the directories of an executor. */
static int add_dirs(struct turn *t, const char *exec, struct nm_spark_dirs_reply *dirs)
{
    struct nm_spark_session *s = t->session;
    const struct nm_spark_local_dirs *locals = nm_spark_applications_locals(s->applications);
    struct nm_spark_executor executor;
    char path[NM_SPARK_PATH_SIZE];
    int r = nm_spark_applications_executor(s->applications, s->application.id, exec, &executor);

    if (r < 0 || (r = reserve_dirs(t, dirs)) < 0)
        return r;
    nm_spark_dirs_begin(dirs, nm_bytes_of(exec), executor.n);
    for (uint32_t i = 0; i < executor.n; i++) {
        nm_spark_dir_path(&s->application, &executor.dirs[i], path);
        nm_spark_dirs_add(dirs, locals->names[executor.dirs[i].local], path);
    }
    return dirs->dirs.size > DIRS_BYTES_MAX ? -EFBIG : 0;
}

static int fail_dirs(struct turn *t, const char *exec, int error)
{
    char why[WHY_SIZE];

    if (error == -ENOENT)
        (void)snprintf(why, sizeof why, "Executor is not registered (appId=%s, execId=%s)", t->session->application.id,
                       exec);
    else
        (void)snprintf(why, sizeof why, "%s",
                       error == -EFBIG ? "Too many executors" : "The executor's id is not valid");
    return fail(t, why);
}

static int answer_dirs(struct turn *t, const struct nm_spark_message *m)
{
    _cleanup_(nm_spark_dirs_done) struct nm_spark_dirs_reply dirs = {};
    struct nm_spark_texts execs = m->texts;
    struct nm_writer w = {};
    char exec[NM_SPARK_ID_SIZE] = "";

    while (execs.n > 0) {
        int r = nm_spark_copy_id(nm_spark_texts_next(&execs), exec) ? add_dirs(t, exec, &dirs) : -EINVAL;

        if (is_of_the_server(r) || r == -EBUSY)
            return r;
        if (r < 0)
            return fail_dirs(t, exec, r);
    }
    nm_spark_put_dirs(&w, &dirs);
    return reply(t, &w);
}

/* The server computes no checksums: the cause is only shown in a message of the reader's. */
static int answer_diagnose(struct turn *t, const struct nm_spark_message *m)
{
    const bool is_known = nm_bytes_equal(m->algorithm, nm_bytes_of("ADLER32")) ||
                          nm_bytes_equal(m->algorithm, nm_bytes_of("CRC32")) ||
                          nm_bytes_equal(m->algorithm, nm_bytes_of("CRC32C"));
    struct nm_writer w = {};

    nm_spark_put_cause(&w, is_known ? NM_SPARK_CAUSE_UNKNOWN : NM_SPARK_CAUSE_UNSUPPORTED);
    return reply(t, &w);
}

/* Gives the session to the application that its first message names. Returns 0, or -EPERM with *ret_why. */
static int belong(struct nm_spark_session *s, struct nm_bytes app, const char **ret_why)
{
    char id[NM_SPARK_ID_SIZE];

    *ret_why = "The application is not known to this node";
    if (!nm_spark_copy_id(app, id))
        return -EPERM;
    if (!*s->application.id)
        return nm_spark_applications_find(s->applications, id, &s->application) < 0 ? -EPERM : 0;
    *ret_why = "Client is not authorized for this application: its connection belongs to another one";
    return nm_streq(id, s->application.id) ? 0 : -EPERM;
}

/* Executors push the blocks of their maps before they fetch any, over the same connection. So a refused push also says
 * whose connection it is: without an application, a connection may send only a few frames. */
static void belong_by_push(struct turn *t)
{
    struct nm_bytes app;
    const char *ignored;

    if (!*t->session->application.id && nm_spark_message_pusher(t->frame.body, &app) == 0)
        (void)belong(t->session, app, &ignored);
}

/* Handles a message of a client that is not yet authenticated. */
static int authenticate(struct turn *t)
{
    struct nm_spark_session *s = t->session;
    struct nm_writer w = {};
    const char *why;
    int r = nm_spark_auth_answer(&s->auth, s->applications, t->frame.body, &w, &t->answer.cipher, &why);

    if (r == 0 && s->auth.state == NM_SPARK_AUTH_DONE &&
        nm_spark_applications_find(s->applications, s->auth.app, &s->application) < 0)
        r = -ECONNRESET; /* the application has just ended */
    if (r == 0)
        return reply(t, &w);
    nm_writer_done(&w);
    t->answer.closes = s->auth.state == NM_SPARK_AUTH_FAILED;
    return r == -EACCES ? fail(t, why) : r;
}

static int answer_message(struct turn *t)
{
    struct nm_spark_message m;
    const char *why = "The message is not valid";

    int r = nm_spark_message_parse(t->frame.body, &m, &why);

    if (r == -EOPNOTSUPP)
        belong_by_push(t);
    if (r < 0 || belong(t->session, m.app, &why) < 0)
        return fail(t, why);
    switch (m.code) {
    case NM_SPARK_OPEN_BLOCKS:
    case NM_SPARK_FETCH_BLOCKS: return answer_open(t);
    case NM_SPARK_REGISTER: return answer_register(t);
    case NM_SPARK_REMOVE_BLOCKS: return answer_remove(t);
    case NM_SPARK_GET_DIRS: return answer_dirs(t, &m);
    case NM_SPARK_DIAGNOSE: return answer_diagnose(t, &m);
    }
    return -EBADMSG;
}

static int answer_push(struct turn *t)
{
    if (t->frame.upload_bytes > NM_SPARK_SKIPPED_MAX)
        return -EMSGSIZE;
    t->answer.skipped_bytes = t->frame.upload_bytes;
    belong_by_push(t);
    return fail(t, "Cannot handle shuffle block merge");
}

/* ---- frames ------------------------------------------------------------------------------- */

static int answer_frame(struct turn *t)
{
    if (!nm_spark_auth_is_done(&t->session->auth))
        return t->frame.type == NM_SPARK_FRAME_RPC ? authenticate(t) : -EACCES;
    switch (t->frame.type) {
    case NM_SPARK_FRAME_CHUNK:
    case NM_SPARK_FRAME_STREAM: return answer_chunk(t);
    case NM_SPARK_FRAME_RPC: return answer_message(t);
    case NM_SPARK_FRAME_ONE_WAY: /* only push-based shuffle has such messages */
        belong_by_push(t);
        return 0;
    case NM_SPARK_FRAME_UPLOAD:
    case NM_SPARK_FRAME_MERGED_META: return answer_push(t);
    }
    return -EBADMSG;
}

bool nm_spark_session_is_handshake(const struct nm_spark_session *s, struct nm_bytes frame)
{
    struct nm_spark_frame f;

    return !nm_spark_auth_is_done(&s->auth) && nm_spark_frame_parse(frame, &f) == 0 && f.type == NM_SPARK_FRAME_RPC &&
           nm_spark_auth_is_handshake(&s->auth, f.body);
}

int nm_spark_session_answer(struct nm_spark_session *s, struct nm_bytes frame, struct nm_writer *w,
                            struct nm_spark_answer *ret)
{
    struct turn t = {.session = s, .w = w, .answer.part.fd = -EBADF};
    int r = nm_spark_frame_parse(frame, &t.frame);

    if (r == 0)
        r = answer_frame(&t);
    if (r < 0) {
        nm_spark_cipher_free(t.answer.cipher);
        return r;
    }
    *ret = t.answer;
    return 0;
}
