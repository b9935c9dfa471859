/* SPDX-License-Identifier: Apache-2.0 */

/* nmd's own protocol, with which the proxy of application masters on another node asks for the room of this node: see
 * cm-call.h. The caller is authenticated by an NMToken, like all callers of this port. It learns how full the node is,
 * and the states of containers of its own application only. */

#include "yarn/cm-protocol/cm-call.h"

#include "util/clock.h"
#include "yarn/peer/peer.h"
#include "yarn/peer/peer.pb-c.h"

static enum nm_peer_container_state state_of(const struct nm_yarn_cm_server *m, const Hadoop__ContainerId *id,
                                             protobuf_c_boolean *ret_guaranteed)
{
    bool running, guaranteed;

    *ret_guaranteed = 0;
    if (!nm_yarn_node_has_container(m->node, id, &running, &guaranteed))
        return NM_PEER_CONTAINER_UNKNOWN;
    *ret_guaranteed = guaranteed;
    return running ? NM_PEER_CONTAINER_RUNNING : NM_PEER_CONTAINER_QUEUED;
}

static bool may_ask(struct nm_hadoop_call *call, const Peer__RoomRequest *request)
{
    const Hadoop__NMTokenIdentifier *caller = nm_cm_caller(call);
    struct nm_exception why;

    if (!caller)
        return false;
    if (request->n_ids > NM_PEER_CONTAINERS_MAX) {
        nm_cm_refuse(call, NM_EXCEPTION_YARN, "A question may name at most 256 containers.");
        return false;
    }
    for (size_t i = 0; i < request->n_ids; i++)
        if (nm_yarn_check_owner(caller, request->ids[i], "ask for", &why) != 0) {
            why.detail = NM_EXCEPTION_APPLICATION;
            nm_hadoop_call_refuse(call, &why);
            return false;
        }
    return true;
}

void nm_cm_room(struct nm_hadoop_call *call, void *userdata)
{
    const Peer__RoomRequest *request = (const Peer__RoomRequest *)nm_hadoop_call_request(call);
    Peer__RoomAnswer answer = PEER__ROOM_ANSWER__INIT;
    struct nm_yarn_cm_server *m = userdata;
    protobuf_c_boolean guaranteed[NM_PEER_CONTAINERS_MAX];
    int32_t states[NM_PEER_CONTAINERS_MAX];
    struct nm_yarn_node_room room;

    if (!may_ask(call, request))
        return;
    nm_yarn_node_get_room(m->node, &room);
    for (size_t i = 0; i < request->n_ids; i++)
        states[i] = state_of(m, request->ids[i], &guaranteed[i]);
    answer.has_memory_mib = answer.has_guaranteed_free_memory_mib = answer.has_unused_memory_mib = 1;
    answer.has_vcores = answer.has_guaranteed_free_vcores = answer.has_queue_length = answer.has_queue_max = 1;
    answer.has_admits = 1;
    answer.memory_mib = room.memory_mib;
    answer.guaranteed_free_memory_mib = room.guaranteed_free_memory_mib;
    answer.unused_memory_mib = room.unused_memory_mib;
    answer.vcores = room.vcores;
    answer.guaranteed_free_vcores = room.guaranteed_free_vcores;
    answer.queue_length = room.queue_length;
    answer.queue_max = room.queue_max;
    answer.admits = room.admits;
    if (request->observer > 0) {
        answer.has_observed_mib = 1;
        answer.observed_mib = nm_observers_tell(&m->observers, request->observer, request->observed_mib, nm_now_usec());
    }
    answer.states = states;
    answer.guaranteed = guaranteed;
    answer.n_states = answer.n_guaranteed = request->n_ids;
    nm_hadoop_call_answer(call, &answer.base);
}
