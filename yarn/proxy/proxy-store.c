/* SPDX-License-Identifier: Apache-2.0 */

/* See proxy-store.h. The file of a master is rewritten completely each time. It has some KiB, or more if the master has
 * very many asks. */

#include "yarn/proxy/proxy-store.h"

#include <errno.h>
#include <syslog.h>

#include "util/error.h"
#include "util/fault.h"
#include "util/fileio.h"
#include "util/parse.h"
#include "yarn/id-messages.h"
#include "yarn/state-dir.h"
#include "yarn/proxy/proxy-store.pb-c.h"

#define KEYS_FILE "master-keys"
#define MASTERS_DIR "masters"
#define KEYS_MAX_BYTES 4096u

int nm_yarn_proxy_store_open(const char *state_dir, const char *runtime_dir, struct nm_yarn_proxy_store *ret)
{
    *ret = (struct nm_yarn_proxy_store){.dir_fd = -EBADF, .masters_fd = -EBADF};
    ret->dir_fd = RET_NERRNO(open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return ret->dir_fd < 0 ? ret->dir_fd : nm_yarn_state_dir_open(runtime_dir, MASTERS_DIR, &ret->masters_fd);
}

static bool note_file(const char *name, struct nm_bytes content, void *userdata)
{
    (void)name, (void)content;
    *(bool *)userdata = true;
    return true;
}

bool nm_yarn_proxy_store_has_masters(const char *runtime_dir)
{
    _cleanup_free_ char *path = NULL;
    _cleanup_close_ int fd = -EBADF;
    bool found = false;

    if (asprintf(&path, "%s/" MASTERS_DIR, runtime_dir) < 0) {
        path = NULL; /* undefined after a failure */
        return false;
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        (void)nm_yarn_state_dir_read(fd, NM_YARN_MASTER_FILE_MAX_BYTES, note_file, &found);
    return found;
}

void nm_yarn_proxy_store_done(struct nm_yarn_proxy_store *k)
{
    k->dir_fd = nm_close(k->dir_fd);
    k->masters_fd = nm_close(k->masters_fd);
}

static int put(int dir_fd, const char *name, const ProtobufCMessage *m, size_t max)
{
    size_t size = protobuf_c_message_get_packed_size(m);
    _cleanup_free_ uint8_t *data = NULL;
    int r;

    if (size > max)
        return -EFBIG;
    data = malloc(size + 1);
    if (!data)
        return -ENOMEM;
    (void)protobuf_c_message_pack(m, data);
    r = nm_yarn_state_dir_put(dir_fd, name, (struct nm_bytes){data, size});
    explicit_bzero(data, size);
    return r;
}

/* ---- keys --------------------------------------------------------------------------------- */

int nm_yarn_proxy_store_keys(const struct nm_yarn_proxy_store *k, const struct nm_yarn_local_keys *keys)
{
    Yarn__StoredLocalKeys m = YARN__STORED_LOCAL_KEYS__INIT;
    Yarn__MasterKey current = nm_yarn_key_message(&keys->current), next = nm_yarn_key_message(&keys->next);
    int r;

    m.current = keys->current.size > 0 ? &current : NULL;
    m.next = keys->next.size > 0 ? &next : NULL;
    m.has_rolled_usec = 1;
    m.rolled_usec = keys->rolled_usec;
    NM_FAULT("before-master-keys");
    r = put(k->dir_fd, KEYS_FILE, &m.base, KEYS_MAX_BYTES);
    NM_FAULT("after-master-keys");
    return r;
}

static int take_keys(struct nm_bytes content, struct nm_yarn_local_keys *keys)
{
    struct nm_yarn_master_key current, next = {0};
    const Yarn__StoredLocalKeys *m;
    struct nm_arena a;
    int r;

    nm_arena_init(&a, nm_arena_limit(content.size), NULL);
    m = (const Yarn__StoredLocalKeys *)nm_arena_unpack(&a, &yarn__stored_local_keys__descriptor, content);
    if (m && nm_yarn_key_from_message(m->current, &current) &&
        (!m->next || nm_yarn_key_from_message(m->next, &next))) {
        keys->current = current;
        keys->next = next;
        keys->rolled_usec = m->rolled_usec;
    }
    /* an invalid file is treated like a missing file, but without memory the function must fail, so that valid keys are
     * not lost */
    r = !m && nm_arena_error(&a) == -ENOMEM ? -ENOMEM : 0;
    nm_arena_done(&a);
    return r;
}

int nm_yarn_proxy_store_load_keys(const struct nm_yarn_proxy_store *k, struct nm_yarn_local_keys *keys)
{
    _cleanup_free_ uint8_t *data = NULL;
    size_t size;
    int r = nm_read_regular_at(k->dir_fd, KEYS_FILE, KEYS_MAX_BYTES, &data, &size);

    if (r < 0)
        return r == -ENOENT || r == -EBADMSG ? 0 : r;
    r = take_keys((struct nm_bytes){data, size}, keys);
    explicit_bzero(data, size);
    return r;
}

/* ---- masters: writing --------------------------------------------------------------------- */

static ProtobufCBinaryData data_of(struct nm_bytes b)
{
    return (ProtobufCBinaryData){b.size, (uint8_t *)b.data};
}

static int put_token(const struct nm_token *t, struct nm_arena *a, Hadoop__Token *m)
{
    *m = (Hadoop__Token)HADOOP__TOKEN__INIT;
    m->identifier = data_of(t->identifier);
    m->password = data_of(t->password);
    m->kind = nm_arena_text(a, t->kind);
    m->service = nm_arena_text(a, t->service);
    return m->kind && m->service ? 0 : -ENOMEM;
}

static int put_nodes(const struct nm_yarn_stored_master *from, struct nm_arena *a, Yarn__StoredMaster *m)
{
    Hadoop__NodeId *nodes = nm_arena_alloc(a, (from->n_known_nodes + 1) * sizeof *nodes);

    m->known_nodes = nm_arena_alloc(a, (from->n_known_nodes + 1) * sizeof *m->known_nodes);
    if (!nodes || !m->known_nodes)
        return -ENOMEM;
    for (; m->n_known_nodes < from->n_known_nodes; m->n_known_nodes++) {
        Hadoop__NodeId *node = &nodes[m->n_known_nodes];

        *node = (Hadoop__NodeId)HADOOP__NODE_ID__INIT;
        node->host = (char *)from->known_nodes[m->n_known_nodes].host;
        node->has_port = 1;
        node->port = from->known_nodes[m->n_known_nodes].port;
        m->known_nodes[m->n_known_nodes] = node;
    }
    return 0;
}

static int put_placed(const struct nm_yarn_stored_master *from, struct nm_arena *a, Yarn__StoredMaster *m)
{
    m->placed = nm_arena_alloc(a, (from->n_placed + 1) * sizeof *m->placed);
    if (!m->placed)
        return -ENOMEM;
    for (; m->n_placed < from->n_placed; m->n_placed++)
        m->placed[m->n_placed] = data_of(from->placed[m->n_placed]);
    return 0;
}

static int write_master(const struct nm_yarn_proxy_store *k, const struct nm_yarn_stored_master *from,
                        struct nm_arena *a)
{
    Yarn__MasterKey used_key = nm_yarn_key_message(&from->used_key), given_key = nm_yarn_key_message(&from->given_key);
    Yarn__StoredMaster m = YARN__STORED_MASTER__INIT;
    struct nm_yarn_attempt_message ids;
    char name[NM_YARN_ID_SIZE];
    Hadoop__Token token;
    int r = put_token(&from->token, a, &token);

    m.attempt = nm_yarn_attempt_message_set(&ids, &from->attempt);
    m.submitter = (char *)from->submitter;
    m.token = &token;
    m.borne_key = from->used_key.size > 0 ? &used_key : NULL;
    m.given_key = from->given_key.size > 0 ? &given_key : NULL;
    m.has_registered = from->registered.size > 0;
    m.registered = data_of(from->registered);
    m.has_asks = from->asks.size > 0;
    m.asks = data_of(from->asks);
    m.has_master_number = m.has_since_usec = 1;
    m.master_number = from->master_number;
    m.since_usec = from->since_realtime_usec;
    m.has_last_number = from->has_number;
    m.last_number = from->last_number;
    m.has_response_id = 1;
    m.response_id = from->response_id;
    m.has_lending = from->lending.size > 0;
    m.lending = data_of(from->lending);
    m.wish = (char *)from->wish;
    if (r == 0)
        r = put_placed(from, a, &m);
    if (r == 0)
        r = put_nodes(from, a, &m);
    return r < 0 ? r : put(k->masters_fd, nm_yarn_attempt_id_format(&from->attempt, name), &m.base,
                           NM_YARN_MASTER_FILE_MAX_BYTES);
}

int nm_yarn_proxy_store_master(const struct nm_yarn_proxy_store *k, const struct nm_yarn_stored_master *m)
{
    struct nm_arena a;
    int r;

    nm_arena_init(&a, NM_YARN_MASTER_FILE_MAX_BYTES, NULL);
    NM_FAULT("before-master-kept");
    r = write_master(k, m, &a);
    NM_FAULT("after-master-kept");
    nm_arena_done(&a);
    return r;
}

void nm_yarn_proxy_store_drop(const struct nm_yarn_proxy_store *k, const struct nm_yarn_attempt_id *id)
{
    char name[NM_YARN_ID_SIZE];

    NM_FAULT("before-master-dropped");
    nm_yarn_state_dir_drop(k->masters_fd, nm_yarn_attempt_id_format(id, name));
    NM_FAULT("after-master-dropped");
}

/* ---- masters: reading --------------------------------------------------------------------- */

static struct nm_bytes bytes_of(bool has, ProtobufCBinaryData d)
{
    return has ? (struct nm_bytes){d.data, d.len} : (struct nm_bytes){0};
}

static int take_placed(const Yarn__StoredMaster *m, struct nm_arena *a, struct nm_yarn_stored_master *to)
{
    struct nm_bytes *list = nm_arena_alloc(a, (m->n_placed + 1) * sizeof *list);

    if (!list)
        return -ENOMEM;
    for (; to->n_placed < m->n_placed; to->n_placed++)
        list[to->n_placed] = bytes_of(true, m->placed[to->n_placed]);
    to->placed = list;
    return 0;
}

static int take_nodes(const Yarn__StoredMaster *m, struct nm_arena *a, struct nm_yarn_stored_master *to)
{
    struct nm_yarn_stored_node *list = nm_arena_alloc(a, (m->n_known_nodes + 1) * sizeof *list);

    if (!list)
        return -ENOMEM;
    for (; to->n_known_nodes < m->n_known_nodes; to->n_known_nodes++) {
        const Hadoop__NodeId *node = m->known_nodes[to->n_known_nodes];

        if (!node->host || !node->has_port)
            return -EBADMSG;
        list[to->n_known_nodes] = (struct nm_yarn_stored_node){node->host, node->port};
    }
    to->known_nodes = list;
    return 0;
}

static int take_held(const Yarn__StoredMaster *m, struct nm_yarn_stored_master *to)
{
    if ((m->borne_key && !nm_yarn_key_from_message(m->borne_key, &to->used_key)) ||
        (m->given_key && !nm_yarn_key_from_message(m->given_key, &to->given_key)))
        return -EBADMSG;
    return 0;
}

/* Checks a file. The submitter must be valid in paths and tokens. The name of the file must be the id of the attempt
 * that the file contains. */
static bool is_whole(const Yarn__StoredMaster *m, const char *name)
{
    struct nm_yarn_attempt_id id;
    char text[NM_YARN_ID_SIZE];

    if (!nm_yarn_is_attempt(m->attempt) || !m->submitter || !nm_user_name_is_valid(m->submitter) || !m->token)
        return false;
    id = nm_yarn_attempt_of(m->attempt);
    return nm_streq(nm_yarn_attempt_id_format(&id, text), name);
}

int nm_yarn_proxy_store_parse(struct nm_arena *a, const char *name, struct nm_bytes content,
                              struct nm_yarn_stored_master *ret)
{
    const Yarn__StoredMaster *m =
        (const Yarn__StoredMaster *)nm_arena_unpack(a, &yarn__stored_master__descriptor, content);
    struct nm_yarn_stored_master to = {0};
    int r;

    if (!m)
        return nm_arena_error(a);
    if (!is_whole(m, name))
        return -EBADMSG;
    to.attempt = nm_yarn_attempt_of(m->attempt);
    to.submitter = m->submitter;
    to.token = nm_token_from_message(m->token);
    to.registered = bytes_of(m->has_registered, m->registered);
    to.asks = bytes_of(m->has_asks, m->asks);
    to.master_number = m->master_number;
    to.since_realtime_usec = m->since_usec;
    to.has_number = m->has_last_number;
    to.last_number = m->last_number;
    to.response_id = m->response_id;
    to.lending = bytes_of(m->has_lending, m->lending);
    to.wish = m->wish;
    r = take_held(m, &to);
    if (r == 0)
        r = take_placed(m, a, &to);
    if (r == 0)
        r = take_nodes(m, a, &to);
    if (r == 0)
        *ret = to;
    return r;
}

struct loading {
    const struct nm_yarn_proxy_store *store;
    nm_yarn_stored_master_cb_t cb;
    void *userdata;
};

static void report_damaged(const struct nm_yarn_proxy_store *k, const char *name)
{
    char sentence[320];

    (void)snprintf(sentence, sizeof sentence,
                   "The state of the application master %.100s is damaged, and is removed. Its calls are refused from "
                   "now on, until the ResourceManager starts its next attempt.", name);
    if (k->report_cb)
        k->report_cb(LOG_WARNING, sentence);
}

static bool load_one(const char *name, struct nm_bytes content, void *userdata)
{
    const struct loading *l = userdata;
    struct nm_yarn_stored_master m;
    struct nm_arena a;
    int r;

    nm_arena_init(&a, nm_arena_limit(content.size), NULL);
    r = nm_yarn_proxy_store_parse(&a, name, content, &m);
    if (r == 0)
        l->cb(&m, l->userdata);
    else if (r == -EBADMSG)
        report_damaged(l->store, name);
    nm_arena_done(&a);
    return r != -EBADMSG;
}

int nm_yarn_proxy_store_load_masters(const struct nm_yarn_proxy_store *k, nm_yarn_stored_master_cb_t cb, void *userdata)
{
    struct loading l = {k, cb, userdata};

    return nm_yarn_state_dir_read(k->masters_fd, NM_YARN_MASTER_FILE_MAX_BYTES, load_one, &l);
}
