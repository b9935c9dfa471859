/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The GPUs that the node offers to its ResourceManager. They are those of the cluster's files, or those that the
 * discovery finds. A ResourceManager gets the number of GPUs only by a registration. So the first registration waits
 * for the discovery, and GPUs that are found later cause another registration.
 */

#include "yarn/yarn-state.h"

#include <inttypes.h>
#include <syslog.h>

#include "util/clock.h"
#include "util/error.h"

#define WAIT_USEC (60 * NM_USEC_PER_SEC)

static const struct nm_yarn_gpu_settings *settings_of(const struct nm_yarn *y)
{
    return &y->settings->gpus;
}

/* ---- life cycle --------------------------------------------------------------------------- */

int nm_yarn_gpus_check(const struct nm_yarn_settings *settings, struct nm_refusals *refusals)
{
    _cleanup_free_ char *path = NULL;
    char *message = NULL;
    int r;

    if (!settings->gpus.enabled || !settings->gpus.discovers)
        return 0;
    r = nm_yarn_gpu_discovery_path(&settings->gpus, &path, &message);
    return nm_refusals_add(refusals, r, message);
}

static void report(const struct nm_yarn *y, int level, const char *text)
{
    nm_manager_report_event(y->manager, level, text);
}

static void report_isolation(const struct nm_yarn *y)
{
    if (!nm_manager_restricts_devices(y->manager))
        report(y, LOG_WARNING, "GPUs are not isolated: without systemd as PID 1, or without root, nmd can't keep a "
                               "container from opening the GPUs of other containers; it only sets "
                               "CUDA_VISIBLE_DEVICES and NVIDIA_VISIBLE_DEVICES");
}

static void take_list(struct nm_yarn *y, const struct nm_yarn_gpu *list, size_t n)
{
    char text[8 * NM_YARN_GPUS_MAX + 40];
    size_t at = (size_t)snprintf(text, sizeof text, "this node has %zu GPU%s (index:minor", n, n == 1 ? "" : "s");

    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, " %u:%u", list[i].index, list[i].minor);
    (void)snprintf(text + at, sizeof text - at, ")");
    nm_yarn_node_set_gpus(y->services->node, list, n);
    report(y, LOG_INFO, text);
}

void nm_yarn_gpus_take_change(struct nm_yarn *y)
{
    const char *trouble = nm_yarn_gpu_discovery_trouble(y->gpus.discovery);
    const struct nm_yarn_gpu *list;
    char text[500];
    size_t n;

    if (nm_yarn_gpu_discovery_get(y->gpus.discovery, &list, &n)) {
        take_list(y, list, n);
    } else if (!nm_streq(trouble, y->gpus.trouble) || !nm_yarn_gpu_discovery_is_waiting(y->gpus.discovery)) {
        (void)snprintf(text, sizeof text, "the GPUs of this node aren't known: %s; %s%s", trouble,
                       nm_yarn_gpu_discovery_is_waiting(y->gpus.discovery) ? "nmd tries again"
                                                                           : "nmd no longer tries to find them",
                       settings_of(y)->fail_fast ? ", and the node doesn't join the cluster without them" : "");
        report(y, LOG_WARNING, text);
    }
    (void)snprintf(y->gpus.trouble, sizeof y->gpus.trouble, "%s", trouble);
}

int nm_yarn_gpus_new(struct nm_yarn *y, void (*on_change)(void *userdata))
{
    const struct nm_yarn_gpu_settings *s = settings_of(y);
    const struct nm_yarn_gpu_discovery_params params = {.event = y->event, .settings = s, .on_change = on_change,
                                                        .userdata = y};

    if (!s->enabled)
        return 0;
    y->gpus.since_usec = nm_now_usec();
    report_isolation(y);
    if (s->discovers)
        return nm_yarn_gpu_discovery_new(&params, &y->gpus.discovery);
    take_list(y, s->list, s->n);
    return 0;
}

void nm_yarn_gpus_done(struct nm_yarn *y)
{
    y->gpus.discovery = nm_yarn_gpu_discovery_free(y->gpus.discovery);
}

/* ---- registrations ------------------------------------------------------------------------ */

/* With fail-fast, Hadoop's NodeManager exits if it finds no GPU. nmd runs containers of other owners too, so only the
 * node of the cluster waits. */
uint64_t nm_yarn_gpus_wait_usec(const struct nm_yarn *y)
{
    const struct nm_yarn_gpu *list;
    size_t n;

    if (!y->gpus.discovery || nm_yarn_gpu_discovery_get(y->gpus.discovery, &list, &n))
        return 0;
    if (settings_of(y)->fail_fast)
        return WAIT_USEC;
    return nm_yarn_gpu_discovery_is_waiting(y->gpus.discovery)
               ? nm_sub_u64(y->gpus.since_usec + WAIT_USEC, nm_now_usec())
               : 0;
}

static size_t number(const struct nm_yarn *y)
{
    const struct nm_yarn_gpu *list;
    size_t n = settings_of(y)->n;

    if (y->gpus.discovery)
        (void)nm_yarn_gpu_discovery_get(y->gpus.discovery, &list, &n);
    return n;
}

bool nm_yarn_gpus_have_changed(const struct nm_yarn *y)
{
    return number(y) != y->gpus.n_reported;
}

void nm_yarn_gpus_report(struct nm_yarn *y)
{
    y->gpus.n_reported = number(y);
}

/* ---- display ------------------------------------------------------------------------------ */

json_t *nm_yarn_gpus_show(const struct nm_yarn *y, const struct nm_caller *who)
{
    struct nm_yarn_viewer viewer = {y->manager, who};
    const struct nm_yarn_view_rights rights = {.all = who->admin, .may_see = nm_yarn_may_see, .userdata = &viewer};

    if (!settings_of(y)->enabled)
        return json_null();
    return json_pack("{s:b, s:s?, s:o}", "isolated", nm_manager_restricts_devices(y->manager), "trouble",
                     *y->gpus.trouble ? y->gpus.trouble : NULL, "devices",
                     nm_yarn_node_show_gpus(y->services->node, &rights));
}

void nm_yarn_gpus_write_metrics(const struct nm_yarn *y, const struct nm_metric_writer *w)
{
    if (!settings_of(y)->enabled)
        return;
    w->family(w->to, "nm_gpus", NM_METRIC_GAUGE, "GPUs that this node offers to its cluster.");
    w->sample(w->to, "nm_gpus", NULL, (double)number(y));
    w->family(w->to, "nm_gpus_assigned", NM_METRIC_GAUGE, "Of these GPUs, those that containers have.");
    w->sample(w->to, "nm_gpus_assigned", NULL, (double)nm_yarn_node_n_assigned_gpus(y->services->node));
}
