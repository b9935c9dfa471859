/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The size of the node that the ResourceManager sets (rmadmin -updateNodeResource, dynamic-resources.xml). The size is
 * passed on to the manager. It is also saved in a file of the state directory, because the ResourceManager doesn't
 * repeat the size to a node that registers with its configured size. The size is valid until it changes or the node has
 * unregistered.
 */

#include "yarn/yarn-state.h"

#include <errno.h>
#include <inttypes.h>

#include "util/fileio.h"
#include "util/parse.h"

#define FILE_NAME "yarn-size"

static int open_state_dir(const struct nm_yarn *y)
{
    return RET_NERRNO(open(y->state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Passes the size on to the manager. The ResourceManager may set the size 0 for a node that is being decommissioned.
 * The manager then gets the minimum size. */
static void pass_on(struct nm_yarn *y)
{
    const struct nm_yarn_state *s = &y->state;

    if (s->sized)
        nm_manager_set_size(y->manager, (uint64_t)NM_MAX(s->memory_mib, (int64_t)1) * NM_MIB,
                            (uint32_t)NM_MAX(s->vcores, 1));
    else
        nm_manager_set_size(y->manager, 0, 0);
}

/* Saves the size. If writing fails, a restarted nmd registers with the configured size, as Hadoop's NodeManager
 * does. */
static void save(struct nm_yarn *y)
{
    _cleanup_close_ int dir_fd = open_state_dir(y);
    char text[120];

    if (dir_fd < 0)
        return;
    (void)snprintf(text, sizeof text, "%" PRId64 " %" PRId32 " %" PRId64 " %" PRId32 "\n", y->own_memory_mib,
                   y->own_vcores, y->state.memory_mib, y->state.vcores);
    if (!y->state.sized)
        (void)unlinkat(dir_fd, FILE_NAME, 0);
    else
        (void)nm_write_file_atomic_at(dir_fd, FILE_NAME, text, 0600);
}

void nm_yarn_size_follow(struct nm_yarn *y)
{
    const struct nm_yarn_state *s = &y->state;

    if (s->sized == y->size_passed_on.sized && s->memory_mib == y->size_passed_on.memory_mib &&
        s->vcores == y->size_passed_on.vcores)
        return;
    y->size_passed_on = (struct nm_yarn_size){s->sized, s->memory_mib, s->vcores};
    pass_on(y);
    save(y);
}

/* Offers the configured size at a registration if the ResourceManager's size is 0. The ResourceManager refuses nodes
 * that offer a size of 0. Java's NodeManager offers the size that the ResourceManager has set, so it is shut down in
 * this case. The ResourceManager then uses the offered size unless its answer has another size. */
void nm_yarn_size_offer(struct nm_yarn *y)
{
    struct nm_yarn_state *s = &y->state;

    if (!s->sized || (s->memory_mib > 0 && s->vcores > 0))
        return;
    s->sized = false;
    s->memory_mib = 0;
    s->vcores = 0;
    nm_yarn_size_follow(y);
}

/*
 * Limits the size that a draining node offers. The ResourceManager would end the containers of an unhealthy node, so a
 * draining node stays healthy. But a draining node refuses new containers, so masters and tasks that are placed in free
 * room would fail. Therefore the node offers only the size of its guaranteed containers. The ResourceManager accepts
 * this size at a registration, and keeps the running containers. The ResourceManager itself reduces the size in the
 * same way when a node is decommissioned gracefully. When containers end, the node reduces its offer before it reports
 * their ends. The offer is never below the scheduler's minimum, because each container has at least this size, and the
 * ResourceManager shuts down a node that offers less. So the offer is kept when the last container ends. The number of
 * vcores is unchanged: without memory no container is placed, and many schedulers count only memory.
 */
void nm_yarn_size_limit(struct nm_yarn *y, bool is_draining)
{
    const int64_t mib = is_draining ? (int64_t)nm_yarn_node_promised_mib(y->services->node) : 0;

    if (!is_draining || mib > 0)
        y->limit_mib = mib;
}

/* The numbers of the file, in their order. */
enum { OWN_MEMORY_MIB, OWN_VCORES, MEMORY_MIB, VCORES, N_NUMBERS };

void nm_yarn_size_load(struct nm_yarn *y)
{
    _cleanup_close_ int dir_fd = open_state_dir(y);
    uint64_t v[N_NUMBERS];
    struct nm_status s;
    char text[120];

    if (dir_fd < 0 || nm_read_file_at(dir_fd, FILE_NAME, text, sizeof text, NULL) < 0)
        return;
    nm_manager_get_summary(y->manager, &s);
    if (nm_parse_numbers(text, v, N_NUMBERS) != N_NUMBERS || v[MEMORY_MIB] > NM_YARN_MEMORY_MIB_MAX ||
        v[VCORES] > NM_YARN_VCORES_MAX || v[OWN_MEMORY_MIB] != s.configured.memory_bytes / NM_MIB ||
        v[OWN_VCORES] != s.configured_vcores_milli / 1000) {
        (void)unlinkat(dir_fd, FILE_NAME, 0);
        return;
    }
    y->own_memory_mib = (int64_t)v[OWN_MEMORY_MIB];
    y->own_vcores = (int32_t)v[OWN_VCORES];
    y->state.sized = true;
    y->state.memory_mib = (int64_t)v[MEMORY_MIB];
    y->state.vcores = (int32_t)v[VCORES];
    y->size_passed_on = (struct nm_yarn_size){true, y->state.memory_mib, y->state.vcores};
    pass_on(y);
}

void nm_yarn_size_drop(struct nm_yarn *y)
{
    _cleanup_close_ int dir_fd = open_state_dir(y);

    if (dir_fd >= 0)
        (void)unlinkat(dir_fd, FILE_NAME, 0);
}
