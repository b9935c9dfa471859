/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests for new containers. This file checks the requests of all interfaces; rpc/ only parses them. The message of a
 * refusal has the name of the parameter, its value, and the allowed values. A refused request leaves the manager
 * unchanged.
 */

#include "agent/requests/requests-internal.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>

#include "agent/config/settings.h"
#include "agent/problem.h"
#include "agent/users.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "agent/lifecycle/lifecycle.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/parse.h"

#define MIN_MEMORY_BYTES NM_MIB

/* ---- checks ---------------------------------------------------------------- */

static int check_name(const char *thing, const char *s, struct nm_problem *p)
{
    if (!s || nm_name_is_valid(s))
        return 0;
    return nm_problem_set(
        p, NM_AGENT_E_INVALID, thing, s,
        "The %s must be 1 to 63 letters, digits, '.', '_' or '-', and not begin with '.' or '-'; '%.70s' is not valid.",
        thing, s);
}

static bool is_orphan(const struct nm_manager *m, const char *id)
{
    char known[NM_ID_SIZE];

    for (size_t i = 0; i < m->unowned.orphans.n; i++)
        if (nm_cgroup_container_id(m->backend, m->unowned.orphans.all[i]->name, known, sizeof known) >= 0 &&
            nm_streq(known, id))
            return true;
    return false;
}

static int check_id(struct nm_manager *m, const char *id, struct nm_problem *p)
{
    uint64_t epoch, number;

    if (!id)
        return 0;
    if (!nm_id_is_valid(id) || nm_id_parse(id, &epoch, &number))
        return nm_problem_set(p, NM_AGENT_E_INVALID, "id", id,
                              "A container's id must be \"container_\" followed by letters, digits or '_', at most %u "
                              "characters in all, and not have the form of nmd's own ids "
                              "(container_<number>_<number>); '%.70s' is not valid.",
                              NM_ID_SIZE - 1, id);
    if (nm_lists_by_id(m, id) || is_orphan(m, id))
        return nm_problem_set(p, NM_AGENT_E_CONFLICT, "id", id,
                              "There is a container %s already, which is live or whose result is still kept.", id);
    return 0;
}

struct strings {
    uint64_t bytes;
    unsigned n;
};

/* Checks the sizes of the command and the environment against the limits of execve(): for a single string, and for all
 * strings together. The error of execve() would be reported only after the container has started. The size of the
 * pointers counts as in execve(), so the number of short strings is limited, too. */
static int check_strings(const char *thing, const char *const *strings, uint64_t room,
                         struct strings *sum, struct nm_problem *p)
{
    sum->bytes += sizeof *strings;
    for (size_t n = 0; strings && strings[n]; n++) {
        uint64_t bytes = strlen(strings[n]) + 1;

        sum->bytes += bytes + sizeof *strings;
        if (bytes > NM_COMMAND_STRING_MAX)
            return nm_problem_set(p, NM_AGENT_E_INVALID, thing, strings[n],
                                  "A string of the command or the environment may have at most %u KiB; string %zu of "
                                  "the %s has %" PRIu64 " bytes.",
                                  NM_COMMAND_STRING_MAX >> 10, n, thing, bytes);
        if (++sum->n > NM_COMMAND_STRINGS_MAX)
            return nm_problem_set(p, NM_AGENT_E_INVALID, thing, "",
                                  "Command and environment together may have at most %u strings.",
                                  NM_COMMAND_STRINGS_MAX);
        if (sum->bytes > room)
            return nm_problem_set(p, NM_AGENT_E_INVALID, thing, strings[n],
                                  "Command and environment together may have at most %" PRIu64 " KiB, including %zu "
                                  "bytes for each string's pointer.",
                                  room >> 10, sizeof *strings);
    }
    return 0;
}

/* Checks the names of environment variables. The kernel accepts other names, too, but shells ignore such variables or
 * fail. */
static int check_env(const char *const *env, struct nm_problem *p)
{
    for (; env && *env; env++) {
        const char *e = *env;
        size_t n = strcspn(e, "=");

        if (n > 0 && e[n] == '=' && !isdigit((unsigned char)e[0]) &&
            strspn(e, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") >= n)
            continue;
        return nm_problem_set(p, NM_AGENT_E_INVALID, "env", e,
                              "'%.*s' isn't a valid name of an environment variable: use letters, digits and '_', and "
                              "no digit at the beginning.",
                              (int)NM_MIN(n, (size_t)60), e);
    }
    return 0;
}

/* Checks only the form of a path, not whether the directory exists. The shim checks this later as the container's user,
 * because root could access directories that the user may not access. */
static int check_dir(const char *thing, const char *what, const char *dir, struct nm_problem *p)
{
    if (!dir || !*dir)
        return 0;
    if (*dir != '/' || strlen(dir) >= 4096)
        return nm_problem_set(
            p, NM_AGENT_E_INVALID, thing, dir,
            "The %s must be an absolute path of at most 4095 bytes, not '%.60s'%s.", what, dir,
            strlen(dir) > 60 ? "..." : "");
    for (const char *s = dir; *s; s++)
        if (iscntrl((unsigned char)*s))
            return nm_problem_set(p, NM_AGENT_E_INVALID, thing, dir,
                                  "The %s must not contain control characters; '%.100s' does.", what, dir);
    return 0;
}

static int check_privileged(const struct nm_caller *who, const struct nm_submit *s,
                            struct nm_problem *p)
{
    if (s->exempt && who && !who->admin)
        return nm_access_want_admin(who, "exempt", p);
    if (s->allow_new_privs && who && !who->admin)
        return nm_access_want_admin(who, "allow_new_privs", p);
    return 0;
}

/* Checks whether the node accepts requests at present. */
static int check_node(struct nm_manager *m, struct nm_problem *p)
{
    uint64_t limit;

    if (m->drain.is_on)
        return nm_problem_set(
            p, NM_AGENT_E_UNAVAILABLE, "node", "draining",
            "The node is draining and takes no new containers ('nmctl undrain' ends the drain).");
    if (m->live.n >= m->config->max_containers)
        return nm_problem_set(p, NM_AGENT_E_UNAVAILABLE, "containers", "",
                              "The node has %zu live containers, as many as max-containers allows. Try again when "
                              "some have ended.",
                              m->live.n);
    if (!nm_launch_has_descriptors(&limit))
        return nm_problem_set(p, NM_AGENT_E_UNAVAILABLE, "descriptors", "",
                              "nmd has almost none of its %" PRIu64 " file descriptors left, and each container needs "
                              "about eight. Raise nmd's limit (LimitNOFILE=), or try again when other containers have "
                              "ended.",
                              limit);
    return nm_persist_check(m, p);
}

int nm_submit_check_memory(uint64_t bytes, struct nm_problem *p)
{
    char text[32];

    if (bytes >= MIN_MEMORY_BYTES)
        return 0;
    (void)snprintf(text, sizeof text, "%" PRIu64, bytes);
    return nm_problem_set(p, NM_AGENT_E_INVALID, "memory", text,
                          "A container needs at least 1 MiB of memory; %s bytes are too little.",
                          text);
}

int nm_submit_check_blob(const struct nm_blob *blob, struct nm_problem *p)
{
    if (blob->bytes <= NM_BLOB_MAX)
        return 0;
    return nm_problem_set(p, NM_AGENT_E_INVALID, "blob", "",
                          "The data kept with a container (its blob) may have at most %u KiB; that of this request has "
                          "%zu bytes.", NM_BLOB_MAX >> 10,
                          blob->bytes);
}

int nm_submit_check_command(const char *const *argv, const char *const *env, uint64_t *ret_bytes,
                            struct nm_problem *p)
{
    uint64_t room = nm_command_room();
    struct strings sum = {0};
    int r = 0;

    if (!argv || !argv[0] || !argv[0][0])
        r = nm_problem_set(
            p, NM_AGENT_E_INVALID, "command", "",
            "A container needs a command: a non-empty list of words, the first one the program.");
    if (r == 0)
        r = check_strings("command", argv, room, &sum, p);
    if (r == 0)
        r = check_strings("env", env, room, &sum, p);
    if (r == 0)
        r = check_env(env, p);
    if (r == 0)
        *ret_bytes = sum.bytes;
    return r;
}

/* Finds a live container of the same user and owner with the requested name. A container of another user may have the
 * same name, since a refusal would reveal that this name exists. A container whose owner has chosen its id may have the
 * name of another container (such as YARN's "master"). */
static struct nm_live_container *find_namesake(struct nm_manager *m, const struct nm_caller *who,
                                               const struct nm_submit *s)
{
    const char *owner = s->owner ? s->owner : "local";

    for (size_t i = 0; s->name && !s->id && i < m->live.n; i++) {
        const struct nm_container *c = m->live.all[i]->c;

        if (c->submitter_uid == who->uid && nm_streq(c->name, s->name) && nm_streq(c->owner, owner))
            return m->live.all[i];
    }
    return NULL;
}

static int check_name_is_free(struct nm_manager *m, const struct nm_caller *who, const struct nm_submit *s,
                              struct nm_problem *p)
{
    const struct nm_live_container *l = find_namesake(m, who, s);

    if (!l)
        return 0;
    return nm_problem_set(p, NM_AGENT_E_CONFLICT, "name", s->name,
                          "Your container %s has the name '%s' and hasn't ended (%s). Choose another name, end that "
                          "one first, or replace it (--replace).",
                          l->c->id, s->name, nm_state_word(l->c->view.state));
}

int nm_submit_check_dirs(const char *workdir, const char *log_dir, struct nm_problem *p)
{
    int r = check_dir("workdir", "working directory", workdir, p);

    return r == 0 ? check_dir("log_dir", "directory of logs", log_dir, p) : r;
}

/* Makes all checks except the look-up of the user. The caller makes the look-up afterwards, because it may query a
 * directory server. Cheap checks come first. */
static int check_submit(struct nm_manager *m, const struct nm_caller *who,
                        const struct nm_submit *s, struct nm_problem *p)
{
    uint64_t bytes = 0;
    int r = check_node(m, p);

    if (r == 0)
        r = check_id(m, s->id, p);
    if (r == 0)
        r = check_name("name", s->name, p);
    if (r == 0)
        r = check_name("app", s->app, p);
    if (r == 0)
        r = nm_submit_check_command(s->argv, s->env, &bytes, p);
    if (r == 0)
        r = nm_submit_check_dirs(s->workdir, s->log_dir, p);
    if (r == 0)
        r = nm_submit_check_blob(&s->blob, p);
    if (r == 0 && s->keep_result)
        r = nm_user_limits_check_results(m, p);
    if (r == 0)
        r = check_privileged(who, s, p);
    return r == 0 ? nm_user_limits_check(m, who, s->type, bytes + s->blob.bytes, p) : r;
}

uint64_t nm_submit_millicores(const struct nm_manager *m, uint32_t vcores_milli)
{
    return nm_settings_vcore_millicores(m->config, &m->sampled.node, vcores_milli);
}

/* Formats an amount of resources in the units of the request, so that the user sees how much is missing. */
static const char *format_amount(const struct nm_manager *m, const struct nm_resources *r, char *buf, size_t size)
{
    double vcores = nm_settings_millicores_vcores(m->config, &m->sampled.node, r->cpu_millicores) / 1000.0;
    char memory[32];

    (void)snprintf(buf, size, "%s and %.2f vcore%s", nm_format_size(r->memory_bytes, memory, sizeof memory), vcores,
                   nm_plural(vcores));
    return buf;
}

/* Returns whether the request and the capacity have the same text after rounding, although the request is larger.
 * Compares memory if the request exceeds the memory of the capacity, otherwise CPU. */
static bool rounding_hides_excess(const struct nm_manager *m, const struct nm_resources *request,
                                  const struct nm_resources *cap)
{
    struct nm_resources want = *request, have = *cap;
    char want_text[64], have_text[64];

    if (want.memory_bytes > have.memory_bytes)
        want.cpu_millicores = have.cpu_millicores = 0;
    else
        want.memory_bytes = have.memory_bytes = 0;
    format_amount(m, &want, want_text, sizeof want_text);
    format_amount(m, &have, have_text, sizeof have_text);
    return strcmp(want_text, have_text) == 0;
}

static void format_exactly(const struct nm_manager *m, const struct nm_resources *r, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%" PRIu64 " bytes and %.3f vcores", r->memory_bytes,
                   nm_settings_millicores_vcores(m->config, &m->sampled.node, r->cpu_millicores) / 1000.0);
}

int nm_submit_refuse(struct nm_manager *m, enum nm_reason reason, const struct nm_resources *request,
                     const struct nm_policy_container *self, const char *instead, struct nm_problem *p)
{
    const struct nm_resources *cap = &m->settings.capacity;
    struct nm_policy_claims claims;
    char want[64], have[64], claimed[64];

    assert(reason != NM_REASON_NONE && p);
    format_amount(m, request, want, sizeof want);
    format_amount(m, cap, have, sizeof have);
    if (reason == NM_REASON_LARGER_THAN_NODE && rounding_hides_excess(m, request, cap)) {
        format_exactly(m, request, want, sizeof want);
        format_exactly(m, cap, have, sizeof have);
    }
    nm_policy_get_claims(m->live.views, m->live.n, self, &claims);
    if (reason == NM_REASON_QUEUE_FULL && m->settings.queue_policy == NM_QUEUE_BY_RESOURCES)
        return nm_problem_set(p, NM_AGENT_E_QUEUE_FULL, "queue", "",
                              "The queued requests (%s) and this request (%s) together are larger than the node, which "
                              "offers %s. %s",
                              format_amount(m, &claims.waiting, claimed, sizeof claimed), want, have,
                              instead ?: "Try again later, or submit it with --guaranteed.");
    if (reason == NM_REASON_QUEUE_FULL)
        return nm_problem_set(p, NM_AGENT_E_QUEUE_FULL, "queue", "",
                              "The queue holds %u opportunistic containers already, its maximum "
                              "length. %s",
                              m->settings.queue_max_length,
                              instead ?: "Try again later, or submit it with --guaranteed.");
    if (reason == NM_REASON_QUEUE_KEPT)
        return nm_problem_set(p, NM_AGENT_E_QUEUE_FULL, "queue", "",
                              "The queue holds %u opportunistic containers. Surges of guaranteed containers leave "
                              "little memory, so the rest of the queue is kept for containers that ask for more CPU "
                              "per memory. Ask for less memory, try again later, or submit it with --guaranteed.",
                              claims.queued);
    if (reason == NM_REASON_LARGER_THAN_NODE)
        return nm_problem_set(p, NM_AGENT_E_TOO_LARGE,
                              request->memory_bytes > cap->memory_bytes ? "memory" : "vcores", want,
                              "The request (%s) is larger than the node, which offers %s. Ask for less (--memory, "
                              "--vcores).", want, have);
    return nm_problem_set(
        p, NM_AGENT_E_TOO_LARGE,
        claims.guaranteed.memory_bytes + request->memory_bytes > cap->memory_bytes ? "memory" : "vcores", want,
        "Guaranteed containers hold %s of the node's %s, so %s more can't be promised. %s",
        format_amount(m, &claims.guaranteed, claimed, sizeof claimed), have, want,
        instead ?: "Try again when some have ended, or as --opportunistic.");
}

/* ---- creation -------------------------------------------------------------- */

/* Makes the container's command from the request. The casts that remove const are safe, because nm_command_copy() only
 * reads the strings. */
static int fill_command(struct nm_manager *m, const struct nm_submit *s, const struct nm_user *u,
                        struct nm_command *ret)
{
    struct nm_command c = {
        .argv = (char **)(uintptr_t)s->argv,
        .env = (char **)(uintptr_t)s->env,
        .workdir = (char *)(uintptr_t)(s->workdir ? s->workdir : ""),
        .user = (char *)(uintptr_t)u->name,
        .uid = u->uid,
        .gid = u->gid,
        .no_new_privs = m->config->no_new_privs && !s->allow_new_privs,
    };

    return nm_command_copy(&c, ret);
}

/* Creates a container in the state NEW, which is in no list yet, so that a failure requires no cleanup. The next
 * container gets the same number if enter() fails. */
static int make_container(struct nm_manager *m, const struct nm_caller *who,
                          const struct nm_submit *s, const struct nm_user *u,
                          const struct nm_resources *request, uint32_t vcores_milli,
                          struct nm_container **ret)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    int r = nm_container_new(&c);

    assert(who && request->memory_bytes > 0);
    if (r >= 0)
        r = fill_command(m, s, u, &c->command);
    if (r >= 0)
        r = nm_container_set_blob(c, s->blob.data, s->blob.bytes);
    if (r >= 0)
        r = nm_container_set_log_dir(c, s->log_dir ?: "");
    if (r < 0)
        return r;
    c->view.seq = m->journal.next_seq;
    if (s->id) {
        (void)snprintf(c->id, sizeof c->id, "%s", s->id);
        nm_files_drop(m, c->id); /* files of an earlier container with this id must not be read as files of this
                                      container */
    } else {
        nm_id_print(m->journal.opened.epoch, c->view.seq, c->id);
    }
    (void)snprintf(c->name, sizeof c->name, "%s", s->name ? s->name : "");
    (void)snprintf(c->app, sizeof c->app, "%s", s->app ? s->app : "");
    (void)snprintf(c->owner, sizeof c->owner, "%s", s->owner ? s->owner : "local");
    c->submitter_uid = who->uid;
    c->keep_result = s->keep_result;
    c->vcores_milli = vcores_milli;
    c->submitted_realtime_usec = nm_realtime_usec();
    c->view.type = s->type;
    c->view.request = *request;
    c->view.exempt = s->exempt;
    c->view.cpu_is_share = s->cpu_is_share;
    c->view.submitted_usec = nm_now_usec();
    c->view.pause_deadline_usec = UINT64_MAX;
    c->view.min_runtime_usec = s->min_runtime_usec;
    c->view.app = nm_lists_app(m, c->app);
    c->view.expected_usec =
        s->expected_usec ? s->expected_usec : m->apps.all[c->view.app].mean_run_usec;
    *ret = STEAL_PTR(c);
    return 0;
}

/* Adds the container to the journal, and then to the lists. */
static int enter(struct nm_manager *m, struct nm_container *c, bool prepare, struct nm_live_container **ret,
                 struct nm_problem *p)
{
    int r = prepare ? 0 : nm_container_set_state(c, NM_SCHEDULED);

    c->view.state_usec = nm_now_usec(); /* the wait begins now */
    if (r >= 0)
        r = nm_store_put_container(m->store, c);
    nm_record_store_result(m, r);
    NM_FAULT("submit-journalled");
    if (r < 0) {
        /* The client gets a refusal, but the store may repeat the failed write later. So delete the row. */
        (void)nm_store_delete_container(m->store, c->id);
        return nm_persist_refuse(m, r, p);
    }
    r = nm_lists_add_live(m, c, ret);
    if (r < 0)
        (void)nm_store_delete_container(m->store, c->id);
    else
        nm_removable_update(m);
    return r;
}

/* The result of the checks of a submission. */
struct wanted {
    struct nm_resources request;
    uint32_t vcores_milli;
    struct nm_user user;
};

static void wanted_done(struct wanted *w)
{
    nm_user_done(&w->user);
}

/* Returns why a new container with a valid request is refused, or NM_REASON_NONE. A cluster limits its own queued
 * containers, and would send a container again that is refused by a queue that isn't full. */
static enum nm_reason refusal(const struct nm_manager *m, const struct nm_submit *s, const struct nm_resources *request,
                              const struct nm_policy_container *self)
{
    enum nm_reason reason =
        nm_policy_check_request(&m->settings, m->live.views, m->live.n, s->type, request, s->cpu_is_share, self);
    bool limited = s->owner && nm_streq(s->owner, m->owners.limited);
    uint64_t expected_usec = s->expected_usec ? s->expected_usec : nm_lists_mean_run(m, s->app ? s->app : "");

    if (reason != NM_REASON_NONE || s->type == NM_GUARANTEED || self || limited ||
        nm_policy_queue_takes(m->policy, &m->settings, m->live.views, m->live.n, request, expected_usec, nm_now_usec()))
        return reason;
    return NM_REASON_QUEUE_KEPT;
}

/* Makes all checks except that of the name's uniqueness. `self`: the container that the new container replaces, whose
 * request is not counted; or NULL. */
static int check_all(struct nm_manager *m, const struct nm_caller *who, const struct nm_submit *s,
                     const struct nm_policy_container *self, struct wanted *w, struct nm_problem *p)
{
    enum nm_reason reason;
    int r = check_submit(m, who, s, p);

    w->vcores_milli = s->vcores_milli ? s->vcores_milli : m->config->default_vcores_milli;
    w->request = (struct nm_resources){
        .memory_bytes = s->memory_bytes ? s->memory_bytes : m->config->default_memory_bytes,
        .cpu_millicores = nm_submit_millicores(m, w->vcores_milli),
    };
    if (r == 0)
        r = nm_users_check(m->config, who, s->user, &w->user, p);
    if (r == 0)
        r = nm_submit_check_memory(w->request.memory_bytes, p);
    if (r != 0)
        return r;
    reason = refusal(m, s, &w->request, self);
    if (reason == NM_REASON_NONE)
        return 0;
    nm_record_refusal(m, s, &w->request, reason);
    return nm_submit_refuse(m, reason, &w->request, self, NULL, p);
}

/* Starts the replacement of a container: checks the new request and kills the old container. The request is checked
 * first, because an invalid request must not end the old container. rpc/local submits the new container after the end
 * of the old container. So there are never two containers with this name, even if nmd is restarted meanwhile. */
int nm_manager_replace_begin(struct nm_manager *m, const struct nm_caller *who, const struct nm_submit *s,
                             char ret_id[NM_ID_SIZE], struct nm_problem *ret_problem)
{
    _cleanup_(wanted_done) struct wanted w = {0};
    struct nm_live_container *l = find_namesake(m, who, s);
    int r;

    if (!l) {
        ret_id[0] = '\0';
        return 0;
    }
    r = check_all(m, who, s, &l->c->view, &w, ret_problem);
    if (r != 0)
        return r;
    memcpy(ret_id, l->c->id, NM_ID_SIZE);
    if (l->c->view.state == NM_KILLING || nm_end_is_complete(l))
        return 0;
    nm_record_by(l, NM_DECISION_KILL, NM_REASON_USER, who);
    nm_act_kill(l, NM_EXIT_KILLED, false);
    return nm_persist_answer(m, ret_id, "is being killed", ret_problem);
}

/* Adds the container to the queue, even if it is guaranteed. The requested round decides on this container together
 * with all other requests of the same turn. */
int nm_manager_submit(struct nm_manager *m, const struct nm_caller *who, const struct nm_submit *s,
                      const struct nm_container **ret, struct nm_problem *ret_problem)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    _cleanup_(wanted_done) struct wanted w = {0};
    struct nm_live_container *l;
    int r;

    assert(who && s && ret && ret_problem);
    r = check_name_is_free(m, who, s, ret_problem);
    if (r == 0)
        r = check_all(m, who, s, NULL, &w, ret_problem);
    if (r != 0)
        return r;
    r = make_container(m, who, s, &w.user, &w.request, w.vcores_milli, &c);
    if (r == 0)
        r = enter(m, c, s->prepare, &l, ret_problem);
    if (r != 0)
        return r;
    c = NULL; /* m->live owns the container now */
    m->journal.next_seq++;
    if (s->input_fd > 0)
        l->input_fd = NM_MAX(fcntl(s->input_fd, F_DUPFD_CLOEXEC, 3), 0); /* if this fails, the command's input is
                                                                            empty */
    l->rows = s->rows;
    l->columns = s->columns;
    m->counters.submitted++;
    nm_events_publish_state(l, NM_NEW, s->prepare ? NM_NEW : NM_SCHEDULED);
    nm_round_request(m, NM_TRIGGER_CHANGE);
    *ret = l->c;
    return 0;
}
