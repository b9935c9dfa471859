/* SPDX-License-Identifier: Apache-2.0 */

/* What auxiliary services say to containers, and what they learn about them: see node.h and node-state.h. */

#include "yarn/node/node-state.h"

#include "yarn/launch/aux-host.h"
#include "yarn/launch/shuffle-service.h"
#include "yarn/launch/spark-service.h"

/* ---- containers --------------------------------------------------------------------------- */

void nm_yarn_container_begin_services(const struct nm_yarn_container *i)
{
    const Hadoop__ContainerTokenIdentifier *t = i->token;
    const struct nm_yarn_aux_container c = {
        .container = i->text,
        .application = i->app->text,
        .submitter = i->app->submitter,
        .memory_mib = t->resource ? t->resource->memory : 0,
        .vcores = t->resource ? t->resource->vcores : 0,
        .is_master = t->container_type == HADOOP__CONTAINER_TOKEN_IDENTIFIER__CONTAINER_TYPE__APPLICATION_MASTER,
    };

    if (i->node->p.aux_host)
        nm_yarn_aux_host_begin_container(i->node->p.aux_host, &c);
}

void nm_yarn_container_end_services(const struct nm_yarn_container *i)
{
    if (i->node->p.aux_host)
        nm_yarn_aux_host_end_container(i->node->p.aux_host, i->text);
}

/* ---- metadata ----------------------------------------------------------------------------- */

static void set_service(Yarn__Data *d, const char *name, struct nm_bytes value)
{
    *d = (Yarn__Data)YARN__DATA__INIT;
    d->key = (char *)(uintptr_t)name;
    d->has_value = 1;
    d->value = (ProtobufCBinaryData){value.size, (uint8_t *)(uintptr_t)value.data};
}

/* Spark's executors ignore the value of their service, which is empty as in Hadoop. As in Hadoop, services without
 * metadata are left out. */
int nm_yarn_node_services(struct nm_yarn_node *n, struct nm_arena *arena, Yarn__Data ***ret, size_t *ret_n)
{
    const size_t n_hosted = n->p.aux_host ? nm_yarn_aux_host_count(n->p.aux_host) : 0;
    Yarn__Data **list = nm_arena_alloc(arena, (n_hosted + 2) * sizeof *list);
    Yarn__Data *all = nm_arena_alloc(arena, (n_hosted + 2) * sizeof *all);
    size_t used = 0;

    if (!list || !all)
        return -ENOMEM;
    if (n->p.shuffle)
        set_service(&all[used++], NM_YARN_SHUFFLE, nm_yarn_shuffle_metadata(n->p.shuffle));
    if (n->p.spark)
        set_service(&all[used++], nm_yarn_spark_name(n->p.spark), (struct nm_bytes){});
    for (size_t k = 0; k < n_hosted; k++) {
        struct nm_bytes metadata;
        const char *name;

        if (nm_yarn_aux_host_metadata(n->p.aux_host, k, &name, &metadata))
            set_service(&all[used++], name, metadata);
    }
    for (size_t k = 0; k < used; k++)
        list[k] = &all[k];
    *ret = list;
    *ret_n = used;
    return 0;
}
