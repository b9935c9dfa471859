/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What people ask for. Everything that comes in is checked here, whichever way it came: rpc/ only
 * turns bytes into structs. A refusal names the thing, its value and what is allowed, and has
 * changed nothing.
 */

#include "agent/manager/manager.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>

#include "agent/problem.h"
#include "agent/users.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/log.h"
#include "util/parse.h"

#define MIN_MEMORY_BYTES NM_MIB
#define MAX_STRING_BYTES (UINT64_C(128) << 10) /* the kernel's MAX_ARG_STRLEN */
#define MAX_STRINGS_BYTES (UINT64_C(512) << 10)

/* ---- who may see what ---------------------------------------------------- */

static bool may_touch(const struct nm_caller *who, const struct nm_container *c)
{
    return !who || who->admin || who->uid == c->submitter_uid;
}

static bool all_digits(const char *s)
{
    return *s && s[strspn(s, "0123456789")] == '\0';
}

/* A number is short for the id that ends in it, as people say it: "kill 42". */
static bool answers_to(const struct nm_container *c, const char *ref)
{
    return nm_streq(c->name, ref) || (all_digits(ref) && c->view.seq == strtoull(ref, NULL, 10));
}

/* By id, by number, or by name: the one live container of that name, else the newest ended one. */
static int find(struct nm_manager *m, const struct nm_caller *who, const char *ref,
                struct nm_container **ret, struct nm_problem *p)
{
    struct nm_container *c = nm_manager_by_id(m, ref), *found = NULL;

    if (c && may_touch(who, c)) {
        *ret = c;
        return 0;
    }
    for (size_t i = 0; i < m->n_live; i++) {
        c = m->live[i]->c;
        if (!answers_to(c, ref) || !may_touch(who, c))
            continue;
        if (found)
            return nm_problem_set(p, NM_AGENT_E_CONFLICT, "id", ref,
                                  "More than one live container is called '%s' (%s and %s, for "
                                  "instance). Use the id.",
                                  ref, found->id, c->id);
        found = c;
    }
    for (size_t i = m->n_ended; i-- > 0 && !found;)
        if (answers_to(m->ended[i], ref) && may_touch(who, m->ended[i]))
            found = m->ended[i];
    if (!found)
        return nm_problem_set(
            p, NM_AGENT_E_NOT_FOUND, "id", ref,
            "There is no container '%s' here%s. 'nmctl list --all' shows those that there are.",
            ref, who && !who->admin ? " that you may see" : "");
    *ret = found;
    return 0;
}

int nm_manager_find(struct nm_manager *m, const struct nm_caller *who, const char *id,
                    const struct nm_container **ret, struct nm_problem *ret_problem)
{
    struct nm_container *c;
    int r = find(m, who, id, &c, ret_problem);

    if (r == 0)
        *ret = c;
    return r;
}

/* What has ended, or is about to, can't be changed: the state is told, since it is the reason. */
static int find_live(struct nm_manager *m, const struct nm_caller *who, const char *id,
                     struct nm_live **ret, struct nm_problem *p)
{
    struct nm_container *c;
    int r = find(m, who, id, &c, p);

    if (r != 0)
        return r;
    *ret = nm_manager_live_of(m, c);
    if (!*ret || c->view.state == NM_KILLING)
        return nm_problem_set(p, NM_AGENT_E_CONFLICT, "id", id, "Container %s %s (%s).", c->id,
                              *ret ? "is being killed" : "has ended", nm_state_name(c->view.state));
    return 0;
}

static int want_admin(const struct nm_caller *who, const char *thing, struct nm_problem *p)
{
    if (!who || who->admin)
        return 0;
    return nm_problem_set(p, NM_AGENT_E_FORBIDDEN, thing, "",
                          "Only root and members of the administrators' group may do this: %s.",
                          thing);
}

/* ---- submit: checks ------------------------------------------------------ */

static int check_name(const char *thing, const char *s, struct nm_problem *p)
{
    if (!s || nm_name_is_valid(s))
        return 0;
    return nm_problem_set(
        p, NM_AGENT_E_INVALID, thing, s,
        "The %s must be 1 to 63 letters, digits, '.', '_' or '-', and not begin with '.' or '-'; "
        "'%.70s' is not.",
        thing, s);
}

/* execve() has limits of both kinds, and tells of them when it is too late: in the child. */
static int check_strings(const char *thing, const char *const *strings, uint64_t *sum,
                         struct nm_problem *p)
{
    for (; strings && *strings; strings++) {
        uint64_t n = strlen(*strings) + 1;

        *sum += n;
        if (n > MAX_STRING_BYTES || *sum > MAX_STRINGS_BYTES)
            return nm_problem_set(p, NM_AGENT_E_INVALID, thing, *strings,
                                  "Command and environment may have %" PRIu64
                                  " KiB together, and %" PRIu64 " KiB in one string.",
                                  MAX_STRINGS_BYTES >> 10, MAX_STRING_BYTES >> 10);
    }
    return 0;
}

/* Other names are legal for the kernel, but a shell drops them or worse. */
static int check_env(const char *const *env, struct nm_problem *p)
{
    for (; env && *env; env++) {
        const char *e = *env;
        size_t n = strcspn(e, "=");

        if (n > 0 && e[n] == '=' && !isdigit((unsigned char)e[0]) &&
            strspn(e, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") >= n)
            continue;
        return nm_problem_set(p, NM_AGENT_E_INVALID, "env", e,
                              "'%.*s' is no name for an environment variable: it is made of letters, "
                              "digits and '_' and doesn't begin with a digit.",
                              (int)NM_MIN(n, (size_t)60), e);
    }
    return 0;
}

/* Only its form: whether it exists is seen by the shim, as the user of the container. root must not
 * look into users' directories for them. */
static int check_workdir(const char *dir, struct nm_problem *p)
{
    if (!dir || !*dir)
        return 0;
    if (*dir != '/' || strlen(dir) >= 4096)
        return nm_problem_set(
            p, NM_AGENT_E_INVALID, "workdir", dir,
            "The working directory must be an absolute path of at most 4095 bytes, not '%.60s'%s.", dir,
            strlen(dir) > 60 ? "..." : "");
    for (const char *s = dir; *s; s++)
        if (iscntrl((unsigned char)*s))
            return nm_problem_set(p, NM_AGENT_E_INVALID, "workdir", dir,
                                  "The working directory may not contain control characters, as '%.100s' "
                                  "does.",
                                  dir);
    return 0;
}

static int check_privileged(const struct nm_caller *who, const struct nm_submit *s,
                            struct nm_problem *p)
{
    if (s->exempt && who && !who->admin)
        return want_admin(who, "exempt", p);
    if (s->allow_new_privs && who && !who->admin)
        return want_admin(who, "allow_new_privs", p);
    return 0;
}

/* What has nothing to do with the request comes first: it would be refused whatever it said. */
static int check_node(struct nm_manager *m, struct nm_problem *p)
{
    if (m->draining)
        return nm_problem_set(
            p, NM_AGENT_E_UNAVAILABLE, "node", "draining",
            "The node is draining and takes no new containers ('nmctl undrain' ends that).");
    if (m->n_live >= m->config->max_containers)
        return nm_problem_set(p, NM_AGENT_E_UNAVAILABLE, "containers", "",
                              "The node has %zu live containers, as many as max-containers allows.",
                              m->n_live);
    if (m->store_error < 0 && nm_store_flush(m->store) < 0)
        return nm_problem_set(p, NM_AGENT_E_UNAVAILABLE, "journal", strerror(-m->store_error),
                              "The journal in %s can't be written (%s), and nothing is started "
                              "that can't be journalled. Free some space there.",
                              m->state_dir, strerror(-m->store_error));
    return 0;
}

static int check_memory(uint64_t bytes, struct nm_problem *p)
{
    char text[32];

    if (bytes >= MIN_MEMORY_BYTES)
        return 0;
    (void)snprintf(text, sizeof text, "%" PRIu64, bytes);
    return nm_problem_set(p, NM_AGENT_E_INVALID, "memory", text,
                          "A container needs at least 1 MiB of memory; %s bytes are too little.",
                          text);
}

/* Cheap things first, and all of them before the user is looked up, which may ask a directory
 * service. */
static int check_submit(struct nm_manager *m, const struct nm_caller *who,
                        const struct nm_submit *s, struct nm_problem *p)
{
    uint64_t sum = 0;
    int r = check_node(m, p);

    if (r == 0)
        r = check_name("name", s->name, p);
    if (r == 0)
        r = check_name("app", s->app, p);
    if (r == 0 && (!s->argv || !s->argv[0] || !s->argv[0][0]))
        r = nm_problem_set(
            p, NM_AGENT_E_INVALID, "command", "",
            "A container needs a command: a non-empty list of words, the first one the program.");
    if (r == 0)
        r = check_strings("command", s->argv, &sum, p);
    if (r == 0)
        r = check_strings("env", s->env, &sum, p);
    if (r == 0)
        r = check_env(s->env, p);
    if (r == 0)
        r = check_workdir(s->workdir, p);
    return r == 0 ? check_privileged(who, s, p) : r;
}

static uint64_t millicores_of(const struct nm_manager *m, uint32_t vcores_milli)
{
    return nm_settings_vcore_millicores(m->config, &m->node, vcores_milli);
}

/* The figures are those of the moment, in the units of the request, so that one sees by how much it
 * misses. */
static int refuse(struct nm_manager *m, enum nm_reason reason, enum nm_execution_type type,
                  const struct nm_resources *request, struct nm_problem *p)
{
    const struct nm_resources *cap = &m->settings.capacity;
    char want[64], have[64], a[32], b[32];
    uint64_t guaranteed_memory = 0, guaranteed_cpu = 0;

    (void)snprintf(want, sizeof want, "%s and %.2f CPUs",
                   nm_format_size(request->memory_bytes, a, sizeof a),
                   (double)request->cpu_millicores / 1000);
    (void)snprintf(have, sizeof have, "%s and %.2f CPUs",
                   nm_format_size(cap->memory_bytes, b, sizeof b),
                   (double)cap->cpu_millicores / 1000);
    if (reason == NM_REASON_QUEUE_FULL)
        return nm_problem_set(p, NM_AGENT_E_QUEUE_FULL, "queue", "",
                              "The queue holds %u opportunistic containers already, its maximum "
                              "length. Try again later, or as --guaranteed.",
                              m->settings.queue_max_length);
    if (reason == NM_REASON_LARGER_THAN_NODE)
        return nm_problem_set(p, NM_AGENT_E_TOO_LARGE,
                              request->memory_bytes > cap->memory_bytes ? "memory" : "vcores", want,
                              "The request (%s) is larger than the node, which offers %s.", want,
                              have);
    for (size_t i = 0; i < m->n_live; i++)
        if (m->views[i]->type == NM_GUARANTEED) {
            guaranteed_memory += m->views[i]->request.memory_bytes;
            guaranteed_cpu += m->views[i]->request.cpu_millicores;
        }
    (void)type;
    return nm_problem_set(
        p, NM_AGENT_E_TOO_LARGE,
        guaranteed_memory + request->memory_bytes > cap->memory_bytes ? "memory" : "vcores", want,
        "Guaranteed containers hold %s and %.2f CPUs of the node's %s; %s more would be a promise "
        "that can't be kept. "
        "Try again when some have ended, or as --opportunistic.",
        nm_format_size(guaranteed_memory, a, sizeof a), (double)guaranteed_cpu / 1000, have, want);
}

/* ---- submit: make -------------------------------------------------------- */

/* Borrowed pointers behind a cast: nm_command_copy() makes the container's own of them. */
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

/* In the state NEW, and known to nobody: whatever fails here leaves nothing behind. The number is
 * taken only when it has been entered. */
static int make_container(struct nm_manager *m, const struct nm_caller *who,
                          const struct nm_submit *s, const struct nm_user *u,
                          const struct nm_resources *request, uint32_t vcores_milli,
                          struct nm_container **ret)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    int r = nm_container_new(&c);

    if (r >= 0)
        r = fill_command(m, s, u, &c->command);
    if (r < 0)
        return r;
    c->view.seq = m->next_seq;
    (void)snprintf(c->id, sizeof c->id, "container_%" PRIu64 "_%06" PRIu64, m->opened.epoch,
                   c->view.seq);
    (void)snprintf(c->name, sizeof c->name, "%s", s->name ? s->name : "");
    (void)snprintf(c->app, sizeof c->app, "%s", s->app ? s->app : "");
    (void)snprintf(c->owner, sizeof c->owner, "%s", s->owner ? s->owner : "local");
    c->submitter_uid = who->uid;
    c->vcores_milli = vcores_milli;
    c->submitted_realtime_usec = nm_realtime_usec();
    c->view.type = s->type;
    c->view.request = *request;
    c->view.exempt = s->exempt;
    c->view.submitted_usec = nm_now_usec();
    c->view.pause_deadline_usec = UINT64_MAX;
    c->view.min_runtime_usec = s->min_runtime_usec;
    c->view.app = nm_manager_app(m, c->app);
    c->view.expected_usec =
        s->expected_usec ? s->expected_usec : m->apps[c->view.app].mean_run_usec;
    *ret = STEAL_PTR(c);
    return 0;
}

/* Into the journal first; only what is journalled exists. */
static int enter(struct nm_manager *m, struct nm_container *c, struct nm_live **ret,
                 struct nm_problem *p)
{
    int r = nm_container_set_state(c, NM_SCHEDULED);

    if (r >= 0)
        r = nm_store_put_container(m->store, c);
    nm_record_store_result(m, r);
    NM_FAULT("submit-journalled");
    if (r < 0) {
        /* A write that can't be done now is done later. The client hears a refusal, so this one
         * must not be. */
        (void)nm_store_delete_container(m->store, c->id);
        return nm_problem_set(p, NM_AGENT_E_UNAVAILABLE, "journal", strerror(-r),
                              "The journal in %s can't be written (%s), and nothing is started "
                              "that can't be journalled.",
                              m->state_dir, strerror(-r));
    }
    r = nm_manager_add_live(m, c, ret);
    if (r < 0)
        (void)nm_store_delete_container(m->store, c->id);
    return r;
}

/* Here it is only queued, also what is guaranteed: the round that is kicked off decides, together
 * with all that came in the same turn of the loop. */
int nm_manager_submit(struct nm_manager *m, const struct nm_caller *who, const struct nm_submit *s,
                      const struct nm_container **ret, struct nm_problem *ret_problem)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    uint32_t vcores_milli = s->vcores_milli ? s->vcores_milli : m->config->default_vcores_milli;
    struct nm_resources request = {
        .memory_bytes = s->memory_bytes ? s->memory_bytes : m->config->default_memory_bytes,
        .cpu_millicores = millicores_of(m, vcores_milli),
    };
    _cleanup_(nm_user_done) struct nm_user user = {0};
    enum nm_reason reason;
    struct nm_live *l;
    int r = check_submit(m, who, s, ret_problem);

    if (r == 0)
        r = nm_users_check(m->config, who, s->user, &user, ret_problem);
    if (r == 0)
        r = check_memory(request.memory_bytes, ret_problem);
    if (r != 0)
        return r;
    reason = nm_policy_check_request(&m->settings, m->views, m->n_live, s->type, &request, NULL);
    if (reason != NM_REASON_NONE) {
        nm_record_refusal(m, s, &request, reason);
        return refuse(m, reason, s->type, &request, ret_problem);
    }
    r = make_container(m, who, s, &user, &request, vcores_milli, &c);
    if (r == 0)
        r = enter(m, c, &l, ret_problem);
    if (r != 0)
        return r;
    c = NULL; /* the list's now */
    m->next_seq++;
    m->counters.submitted++;
    nm_record_state_event(l, NM_NEW, NM_SCHEDULED);
    nm_manager_kick(m);
    *ret = l->c;
    return 0;
}

/* ---- pause, resume, kill ------------------------------------------------- */

static int wrong_state(const struct nm_container *c, const char *what, const char *allowed,
                       struct nm_problem *p)
{
    return nm_problem_set(p, NM_AGENT_E_CONFLICT, "state", nm_state_name(c->view.state),
                          "Container %s is %s and can't be %s: it must be %s.", c->id,
                          nm_state_name(c->view.state), what, allowed);
}

/* A person's pause of what the policy had paused makes it theirs: it then outlives the cause of the
 * first. */
int nm_manager_pause(struct nm_manager *m, const struct nm_caller *who, const char *id,
                     struct nm_problem *ret_problem)
{
    struct nm_live *l;
    int r = find_live(m, who, id, &l, ret_problem);

    if (r != 0)
        return r;
    if (!m->backend->feature[NM_CGROUP_FREEZE])
        return nm_problem_set(ret_problem, NM_AGENT_E_UNAVAILABLE, "freeze", "",
                              "Containers can't be paused here: %s.",
                              m->backend->missing[NM_CGROUP_FREEZE]);
    if (l->c->view.state == NM_PAUSED || l->c->view.state == NM_PAUSING) {
        l->c->view.user_paused =
            true; /* policy had paused it: now it stays until a person resumes it */
        (void)nm_life_journal(l);
        return 0;
    }
    if (l->c->view.state != NM_RUNNING)
        return wrong_state(l->c, "paused", "RUNNING", ret_problem);
    nm_record_by(l, NM_DECISION_PAUSE, NM_REASON_USER, who);
    nm_act_pause(l, true);
    return 0;
}

/* Also what is still being paused; the policy may pause it again, when CPU is short. */
int nm_manager_resume(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem)
{
    struct nm_live *l;
    int r = find_live(m, who, id, &l, ret_problem);

    if (r != 0)
        return r;
    if (l->c->view.state != NM_PAUSED && l->c->view.state != NM_PAUSING)
        return wrong_state(l->c, "resumed", "PAUSED", ret_problem);
    nm_record_by(l, NM_DECISION_RESUME, NM_REASON_USER, who);
    nm_act_resume(l);
    return 0;
}

/* Twice is not an error: the second time, with `now`, ends the time of grace. */
int nm_manager_kill(struct nm_manager *m, const struct nm_caller *who, const char *id, bool now,
                    struct nm_problem *ret_problem)
{
    struct nm_container *c;
    struct nm_live *l;
    char end[64];
    int r = find(m, who, id, &c, ret_problem);

    if (r != 0)
        return r;
    l = nm_manager_live_of(m, c);
    if (!l)
        return nm_problem_set(ret_problem, NM_AGENT_E_CONFLICT, "id", id,
                              "Container %s has ended already (%s).", c->id,
                              nm_container_end_text(c, end, sizeof end));
    if ((c->view.state == NM_KILLING && !now) || nm_life_is_over(l))
        return 0;
    if (c->view.state != NM_KILLING)
        nm_record_by(l, NM_DECISION_KILL, NM_REASON_USER, who);
    nm_act_kill(l, NM_EXIT_KILLED, now);
    return 0;
}

/* ---- promote, demote, update --------------------------------------------- */

/* In place: the limits of the cgroup change, and no process is moved. A promise that can't be kept
 * is refused, as at submission; to give one up is always possible, but for what still waits: it
 * needs a place in the queue. */
static int change_type(struct nm_manager *m, const struct nm_caller *who, const char *id,
                       enum nm_execution_type to, struct nm_problem *p)
{
    struct nm_live *l;
    struct nm_view *v;
    enum nm_reason reason;
    int r = find_live(m, who, id, &l, p);

    if (r != 0)
        return r;
    v = &l->c->view;
    if (v->type == to)
        return nm_problem_set(p, NM_AGENT_E_CONFLICT, "execution_type", nm_execution_type_name(to),
                              "Container %s is %s already.", l->c->id, nm_execution_type_name(to));
    if (to == NM_GUARANTEED || (v->state == NM_SCHEDULED && !v->admitted)) {
        reason = nm_policy_check_request(&m->settings, m->views, m->n_live, to, &v->request, v);
        if (reason != NM_REASON_NONE)
            return refuse(m, reason, to, &v->request, p);
    }
    v->type = to;
    (void)nm_store_begin(m->store);
    nm_record_by(l, to == NM_GUARANTEED ? NM_DECISION_PROMOTE : NM_DECISION_DEMOTE, NM_REASON_USER,
                 who);
    (void)nm_life_journal(l);
    nm_record_store_result(m, nm_store_commit(m->store));
    (void)nm_life_copy(l);
    NM_FAULT("type-journalled");
    nm_act_limits(l);
    nm_act_priority(l);
    nm_record_acted(l);
    nm_record_effective(l);
    /* What was paused to give way has the right of way now. */
    if (to == NM_GUARANTEED && (v->state == NM_PAUSED || v->state == NM_PAUSING) &&
        !v->user_paused) {
        nm_record_by(l, NM_DECISION_RESUME, NM_REASON_GUARANTEED, who);
        nm_act_resume(l);
    }
    nm_manager_kick(m);
    return 0;
}

int nm_manager_promote(struct nm_manager *m, const struct nm_caller *who, const char *id,
                       struct nm_problem *ret_problem)
{
    return change_type(m, who, id, NM_GUARANTEED, ret_problem);
}

int nm_manager_demote(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem)
{
    return change_type(m, who, id, NM_OPPORTUNISTIC, ret_problem);
}

static int check_shrink(const struct nm_live *l, uint64_t memory_bytes, struct nm_problem *p)
{
    char want[32], has[32];

    /* A limit that isn't lowered makes nothing worse, however much is used. */
    if (memory_bytes >= l->c->view.request.memory_bytes || memory_bytes >= l->c->view.measured.memory_bytes)
        return 0;
    nm_format_size(memory_bytes, want, sizeof want);
    return nm_problem_set(
        p, NM_AGENT_E_CONFLICT, "memory", want,
        "Container %s uses %s now: with a limit of %s the kernel would kill it at once.", l->c->id,
        nm_format_size(l->c->view.measured.memory_bytes, has, sizeof has), want);
}

/* Checked as a new request would be, without what it holds already. The queue's length is no
 * reason: it has its place. */
int nm_manager_update(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      uint64_t memory_bytes, uint32_t vcores_milli, struct nm_problem *ret_problem)
{
    struct nm_live *l;
    struct nm_resources request;
    enum nm_reason reason;
    int r = find_live(m, who, id, &l, ret_problem);

    if (r != 0)
        return r;
    if (!memory_bytes && !vcores_milli)
        return nm_problem_set(ret_problem, NM_AGENT_E_INVALID, "memory_bytes", "",
                              "Nothing to change: give memory, vcores, or both.");
    r = memory_bytes ? check_memory(memory_bytes, ret_problem) : 0;
    if (r != 0)
        return r;
    request.memory_bytes = memory_bytes ? memory_bytes : l->c->view.request.memory_bytes;
    request.cpu_millicores =
        vcores_milli ? millicores_of(m, vcores_milli) : l->c->view.request.cpu_millicores;
    reason = nm_policy_check_request(&m->settings, m->views, m->n_live, l->c->view.type, &request,
                                     &l->c->view);
    if (reason != NM_REASON_NONE && reason != NM_REASON_QUEUE_FULL)
        return refuse(m, reason, l->c->view.type, &request, ret_problem);
    nm_live_sample(l, nm_now_usec());
    r = check_shrink(l, request.memory_bytes, ret_problem);
    if (r != 0)
        return r;
    l->c->view.request = request;
    if (vcores_milli)
        l->c->vcores_milli = vcores_milli;
    (void)nm_store_begin(m->store);
    nm_record_by(l, NM_DECISION_UPDATE, NM_REASON_USER, who);
    (void)nm_life_journal(l);
    nm_record_store_result(m, nm_store_commit(m->store));
    (void)nm_life_copy(l);
    NM_FAULT("update-journalled");
    nm_act_limits(l);
    nm_record_acted(l);
    nm_record_effective(l);
    nm_manager_kick(m);
    return 0;
}

/* ---- drain, reload ------------------------------------------------------- */

static void kill_where(struct nm_manager *m, bool opportunistic_only, bool now,
                       enum nm_reason reason, const struct nm_caller *who)
{
    for (size_t i = m->n_live; i-- > 0;) {
        struct nm_live *l = m->live[i];
        const struct nm_view *v = &l->c->view;

        if (v->state == NM_KILLING || nm_life_is_over(l) || (opportunistic_only && v->type != NM_OPPORTUNISTIC))
            continue;
        nm_record_by(l, NM_DECISION_KILL, reason, who);
        nm_act_kill(l, NM_EXIT_DRAINED, now);
    }
}

static int on_drain_deadline(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_manager *m = userdata;

    (void)s, (void)usec;
    nm_record_node_event(m, "the deadline of draining has come: what still runs is ended");
    kill_where(m, false, false, NM_REASON_DRAIN_DEADLINE, NULL);
    return 0;
}

int nm_manager_arm_drain(struct nm_manager *m)
{
    m->drain_timer = sd_event_source_disable_unref(m->drain_timer);
    if (m->drain_deadline_usec == UINT64_MAX)
        return 0;
    return sd_event_add_time(m->event, &m->drain_timer, CLOCK_BOOTTIME, m->drain_deadline_usec,
                             1000, on_drain_deadline, m);
}

/* Also after a restart: an nmd that died in the midst of it is followed by one that finishes it. */
void nm_manager_carry_out_drain(struct nm_manager *m, const struct nm_caller *who)
{
    /* What waits would wait for ever. */
    for (size_t i = m->n_live; i-- > 0;)
        if (m->views[i]->state == NM_SCHEDULED && !m->views[i]->admitted) {
            nm_record_by(m->live[i], NM_DECISION_SHED, NM_REASON_DRAINING, who);
            nm_act_kill(m->live[i], NM_EXIT_DRAINED, true);
        }
    if (m->drain_opportunistic)
        kill_where(m, true, false, NM_REASON_DRAINING, who);
}

/* Journalled before anything is done: a restart in between must not admit again. To drain anew
 * changes the deadline. */
int nm_manager_drain(struct nm_manager *m, const struct nm_caller *who, uint64_t deadline_usec,
                     bool kill_opportunistic, struct nm_problem *ret_problem)
{
    uint64_t now = nm_now_usec();
    char text[160], when[32];
    int r = want_admin(who, "drain", ret_problem);

    if (r != 0)
        return r;
    m->draining = true;
    m->drain_opportunistic = kill_opportunistic;
    m->drain_deadline_usec = deadline_usec > UINT64_MAX - now ? UINT64_MAX : now + deadline_usec;
    nm_memory_save_drain(m);
    NM_FAULT("drain-journalled");
    r = nm_manager_arm_drain(m);
    if (r < 0)
        return r;
    if (m->drain_deadline_usec == UINT64_MAX)
        (void)snprintf(text, sizeof text,
                       "draining: nothing is admitted any more; what runs may finish");
    else
        (void)snprintf(text, sizeof text,
                       "draining: nothing is admitted any more; what still runs in %s is ended",
                       nm_format_duration(deadline_usec, when, sizeof when));
    nm_record_node_event(m, text);
    nm_manager_carry_out_drain(m, who);
    nm_manager_kick(m);
    return 0;
}

int nm_manager_undrain(struct nm_manager *m, const struct nm_caller *who,
                       struct nm_problem *ret_problem)
{
    int r = want_admin(who, "undrain", ret_problem);

    if (r != 0)
        return r;
    if (!m->draining)
        return nm_problem_set(ret_problem, NM_AGENT_E_CONFLICT, "node", "running",
                              "The node is not draining.");
    m->draining = false;
    m->drain_deadline_usec = UINT64_MAX;
    m->drain_timer = sd_event_source_disable_unref(m->drain_timer);
    nm_memory_save_drain(m);
    nm_record_node_event(m, "no longer draining: containers are admitted again");
    nm_manager_kick(m);
    return 0;
}

/* Weights and shares are relative to the capacity, and so every container's change with it. */
static void refresh_limits(struct nm_manager *m)
{
    nm_manager_slice_limits(m);
    for (size_t i = 0; i < m->n_live; i++)
        if (m->live[i]->cg)
            nm_act_limits(m->live[i]);
}

/* All or nothing: the new settings are complete and checked before the old ones go. Limits are
 * touched only if the capacity has changed. */
int nm_manager_reload(struct nm_manager *m, struct nm_problem *ret_problem)
{
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    _cleanup_free_ char *message = NULL;
    struct nm_resources before = m->settings.capacity;
    char restart[400], text[480];
    int r = m->config_path ? nm_config_load(m->config_path, m->config_must_exist, &c, &message)
                           : nm_config_new_defaults(&c);

    if (r >= 0) {
        (void)nm_config_needs_restart(m->config, c, restart, sizeof restart);
        r = nm_manager_resettle(m, c, &message);
    }
    if (r < 0) {
        nm_err("configuration not reloaded, the old one stays in force: %s",
               message ? message : strerror(-r));
        return nm_problem_set(ret_problem, NM_AGENT_E_INVALID, "configuration",
                              m->config_path ? m->config_path : "",
                              "The configuration was refused, the old one stays in force: %s",
                              message ? message : strerror(-r));
    }
    c = NULL;
    (void)nm_health_reconfigure(m->health, m->config);
    if (before.memory_bytes != m->settings.capacity.memory_bytes ||
        before.cpu_millicores != m->settings.capacity.cpu_millicores)
        refresh_limits(m);
    (void)snprintf(text, sizeof text, "configuration reloaded%s%s",
                   restart[0] ? "; only a restart applies: " : "", restart);
    nm_record_node_event(m, text);
    nm_manager_kick(m);
    return 0;
}
