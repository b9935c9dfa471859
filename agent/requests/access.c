/* SPDX-License-Identifier: Apache-2.0 */

/* Access rules: finds containers for a caller. A caller finds only containers that it may see. */

#include "agent/requests/requests-internal.h"

#include <assert.h>

#include "agent/problem.h"
#include "agent/journal/containers.h"
#include "util/parse.h"

bool nm_access_may_touch(const struct nm_caller *who, const struct nm_container *c)
{
    return !who || who->admin || who->uid == c->submitter_uid;
}

/* Returns whether `ref` is the container's name or its arrival number. The number is the last part of an id made by
 * nmd, and users write it in place of the id: "nmctl kill 42". */
static bool matches_ref(const struct nm_container *c, const char *ref)
{
    uint64_t seq;

    return nm_streq(c->name, ref) || (nm_parse_u64(ref, &seq) == 0 && c->view.seq == seq);
}

int nm_access_find(struct nm_manager *m, const struct nm_caller *who, const char *ref,
                struct nm_container **ret, struct nm_problem *p)
{
    struct nm_container *c = nm_lists_by_id(m, ref), *found = NULL;

    assert(ref && ret && p);
    if (c && nm_access_may_touch(who, c)) {
        *ret = c;
        return 0;
    }
    for (size_t i = 0; i < m->live.n; i++) {
        c = m->live.all[i]->c;
        if (!matches_ref(c, ref) || !nm_access_may_touch(who, c))
            continue;
        if (found)
            return nm_problem_set(p, NM_AGENT_E_CONFLICT, "id", ref,
                                  "More than one live container has the name '%s' (for example %s and %s). Use the id.",
                                  ref, found->id, c->id);
        found = c;
    }
    for (size_t i = m->ended.n; i-- > 0 && !found;)
        if (matches_ref(m->ended.all[i], ref) && nm_access_may_touch(who, m->ended.all[i]))
            found = m->ended.all[i];
    if (!found)
        return nm_problem_set(
            p, NM_AGENT_E_NOT_FOUND, "id", ref,
            "There is no container '%s' here%s. 'nmctl list --all' shows the existing ones.",
            ref, who && !who->admin ? " that you may see" : "");
    *ret = found;
    return 0;
}

int nm_manager_find(struct nm_manager *m, const struct nm_caller *who, const char *id,
                    const struct nm_container **ret, struct nm_problem *ret_problem)
{
    struct nm_container *c;
    int r = nm_access_find(m, who, id, &c, ret_problem);

    if (r == 0)
        *ret = c;
    return r;
}

int nm_access_find_live(struct nm_manager *m, const struct nm_caller *who, const char *id,
                     struct nm_live_container **ret, struct nm_problem *p)
{
    struct nm_container *c;
    char end[NM_STATE_TEXT_SIZE];
    int r = nm_access_find(m, who, id, &c, p);

    if (r != 0)
        return r;
    *ret = nm_lists_live_of(c);
    if (!*ret)
        return nm_problem_set(p, NM_AGENT_E_CONFLICT, "id", id,
                              "Container %s has ended (%s). 'nmctl explain %s' shows why. 'nmctl run' starts a new "
                              "container.", c->id, nm_container_state_text(c, end, sizeof end), c->id);
    if (c->view.state == NM_KILLING)
        return nm_problem_set(p, NM_AGENT_E_CONFLICT, "id", id,
                              "Container %s is being killed (KILLING). 'nmctl wait %s' waits for its end.", c->id,
                              c->id);
    return 0;
}

int nm_access_want_admin(const struct nm_caller *who, const char *thing, struct nm_problem *p)
{
    assert(thing && p);
    if (!who || who->admin)
        return 0;
    return nm_problem_set(p, NM_AGENT_E_FORBIDDEN, thing, "",
                          "Only root and members of the administrators' group may do this: %s. Ask one of them. "
                          "[interface] admin-group in nmd.conf sets the group.", thing);
}
