/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sessions: additional commands in running containers (nmctl exec). A session consists of processes in the container's
 * cgroup, so the limits and the kill of the container apply to them, too. Sessions are not journalled. A session that
 * has begun does not need nmd any more (shim-session.c). nmd only counts the running sessions, since it must reap one
 * child process for each session. After a restart of nmd, the count starts at 0.
 */

#include "agent/requests/requests-internal.h"

#include <assert.h>

#include "agent/launch/shim.h"
#include "agent/node/cgroups.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/problem.h"
#include "util/log.h"

#define SESSIONS_MAX 256u
#define SESSIONS_PER_CONTAINER 16u
#define SESSIONS_PER_USER 64u /* does not apply to administrators */

struct nm_sessions {
    struct nm_session *first;
    unsigned n;
    uint64_t last; /* number of the newest session */
};

struct nm_session {
    struct nm_manager *m;
    struct nm_session *next;
    uint64_t number;
    char container_id[NM_ID_SIZE];
    uid_t uid;
    struct nm_launch *launch;
    sd_event_source *over; /* frees the ended session in a later turn of the event loop */
};

static void drop(struct nm_session *s)
{
    struct nm_session **p = &s->m->sessions->first;

    while (*p != s)
        p = &(*p)->next;
    *p = s->next;
    s->m->sessions->n--;
    sd_event_source_disable_unref(s->over);
    nm_launch_free(s->launch); /* a shim that waits at its gate exits */
    free(s);
}

struct nm_sessions *nm_sessions_new(void)
{
    return calloc(1, sizeof(struct nm_sessions));
}

struct nm_sessions *nm_sessions_free(struct nm_sessions *all)
{
    while (all && all->first)
        drop(all->first);
    free(all);
    return NULL;
}

unsigned nm_sessions_count(const struct nm_sessions *all)
{
    return all->n;
}

static struct nm_session *find(struct nm_manager *m, uint64_t number)
{
    struct nm_session *s = m->sessions->first;

    while (s && s->number != number)
        s = s->next;
    return s;
}

static int on_over(sd_event_source *source, void *userdata)
{
    (void)source;
    drop(userdata);
    return 0;
}

/* Schedules the session's removal, since a launch can't be freed inside its own callback. */
static void on_launch(struct nm_launch *l, enum nm_launch_phase phase, const struct nm_launch_record *r, void *userdata)
{
    struct nm_session *s = userdata;

    (void)l, (void)r;
    if (phase == NM_LAUNCH_ENDED && !s->over &&
        sd_event_add_defer(s->m->event, &s->over, on_over, s) < 0)
        nm_err("%s: out of memory while a session ends", s->container_id);
}

/* ---- limits ----------------------------------------------------------------------------------- */

static int refuse(struct nm_problem *p, unsigned n, const char *whose)
{
    return nm_problem_set(p, NM_AGENT_E_UNAVAILABLE, "exec", "",
                          "%u commands that 'exec' started in %s still run, which is the maximum. Try again when some "
                          "have ended.", n, whose);
}

static int check_room(const struct nm_manager *m, const struct nm_caller *who, const struct nm_container *c,
                      struct nm_problem *p)
{
    unsigned in_container = 0, of_user = 0;
    uint64_t limit;

    for (const struct nm_session *s = m->sessions->first; s; s = s->next) {
        in_container += nm_streq(s->container_id, c->id);
        of_user += s->uid == who->uid;
    }
    if (in_container >= SESSIONS_PER_CONTAINER)
        return refuse(p, in_container, "this container");
    if (!who->admin && of_user >= SESSIONS_PER_USER)
        return refuse(p, of_user, "your containers");
    if (m->sessions->n >= SESSIONS_MAX)
        return refuse(p, m->sessions->n, "all containers");
    if (!nm_launch_has_descriptors(&limit))
        return nm_problem_set(p, NM_AGENT_E_UNAVAILABLE, "descriptors", "",
                              "nmd has almost no file descriptors left. Try again when other commands have ended.");
    return 0;
}

/* Requires a RUNNING container. A command in a paused container would be frozen, too, and the user would only see that
 * it hangs. */
static int check_state(const struct nm_live_container *l, struct nm_problem *p)
{
    const struct nm_container *c = l->c;

    if (c->view.state == NM_RUNNING && l->cg && l->launch && c->pid > 0 && c->shim_pid > 0)
        return 0;
    return nm_problem_set(p, NM_AGENT_E_CONFLICT, "state", nm_state_name(c->view.state),
                          "Container %s is %s, and no command can be started in it: it must be %s.%s", c->id,
                          nm_state_word(c->view.state), nm_state_word(NM_RUNNING),
                          c->view.state == NM_PAUSED       ? " 'nmctl resume' resumes it."
                          : nm_policy_container_is_waiting(&c->view) ? " 'nmctl explain' shows what it waits for."
                                                         : "");
}

/* ---- the command ------------------------------------------------------------------------------ */

/* Returns a vector with the container's environment, followed by the additional environment of the request. The strings
 * are not copied. */
static char **join_env(const struct nm_container *c, const struct nm_exec *e)
{
    size_t n = NM_STRV_LENGTH(c->command.env), n_more = NM_STRV_LENGTH(e->env);
    char **env = calloc(n + n_more + 1, sizeof *env);

    if (env && n > 0)
        memcpy(env, c->command.env, n * sizeof *env);
    if (env && n_more > 0)
        memcpy(env + n, e->env, n_more * sizeof *env);
    return env;
}

static int launch(struct nm_session *s, struct nm_live_container *l, const struct nm_exec *e, int client_fd)
{
    struct nm_manager *m = s->m;
    struct nm_container *c = l->c;
    _cleanup_free_ char **env = join_env(c, e);
    struct nm_command command = c->command;
    const struct nm_launch_params p = {
        .shim_fd = nm_start_open_shim(m),
        .container_id = c->id,
        .command = &command,
        .cgroup_fd = l->cg->dir_fd,
        .oom_score_adj = nm_limits_oom_score_adj(c),
        .confine = m->config->confine && nm_starts_confinement(m->starts) == 0,
        .private_ipc = m->config->private_ipc,
        .rows = e->rows,
        .columns = e->columns,
        .event = m->event,
    };
    const struct nm_shim_session session = {
        .shim_pid = c->shim_pid,
        .command_pid = c->pid,
        .n_more = (uint32_t)NM_STRV_LENGTH(e->env),
        .input = e->input,
    };
    int r;

    if (!env)
        return -ENOMEM;
    command.argv = (char **)e->argv;
    command.env = env;
    r = nm_launch_session_new(&p, &session, nm_launch_shim_pidfd(l->launch), client_fd, on_launch, s, &s->launch);
    if (r < 0 || nm_launch_started_in_cgroup(s->launch))
        return r;
    return nm_cgroup_move_in(l->cg, nm_launch_shim_pid(s->launch));
}

/* If the cgroup has no CPU weight, sets the priority of the session's shim. The command inherits this priority. */
static void set_priority(const struct nm_session *s, const struct nm_live_container *l)
{
    const struct nm_priority p = nm_limits_priority_of(l);

    if (p.schedule && p.background)
        (void)nm_priority_set(nm_launch_shim_pid(s->launch), &p);
}

int nm_manager_exec(struct nm_manager *m, const struct nm_caller *who, const char *id, const struct nm_exec *e,
                    int client_fd, uint64_t *ret_number, struct nm_problem *p)
{
    struct nm_session *s;
    struct nm_live_container *l;
    int r = nm_access_find_live(m, who, id, &l, p);

    assert(e->argv && e->argv[0] && client_fd >= 0);
    if (r == 0)
        r = check_state(l, p);
    if (r == 0)
        r = check_room(m, who, l->c, p);
    if (r != 0)
        return r;
    s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    *s = (struct nm_session){.m = m, .next = m->sessions->first, .number = ++m->sessions->last, .uid = who->uid};
    memcpy(s->container_id, l->c->id, sizeof s->container_id);
    m->sessions->first = s;
    m->sessions->n++;
    r = launch(s, l, e, client_fd);
    if (r < 0) {
        drop(s);
        return nm_problem_set(p, NM_AGENT_E_UNAVAILABLE, "exec", "", "No process could be started in container %s: %s.",
                              l->c->id, strerror(-r));
    }
    set_priority(s, l);
    nm_log_container(LOG_INFO, l->c->id, NULL, NULL, "%s: user %u runs %s in this "
                                                     "container", l->c->id, who->uid, e->argv[0]);
    *ret_number = s->number;
    return 0;
}

void nm_manager_exec_begin(struct nm_manager *m, uint64_t number)
{
    struct nm_session *s = find(m, number);

    if (s)
        (void)nm_launch_open_gate(s->launch); /* an error means that the shim has exited; the client notices that its
                                                 connection is closed */
}

void nm_manager_exec_drop(struct nm_manager *m, uint64_t number)
{
    struct nm_session *s = find(m, number);

    if (s && !s->over)
        drop(s);
}
