/* SPDX-License-Identifier: Apache-2.0 */

/* See plan.h. Makes the advice: sentences about decisions that the administrator has to make, and about problems that
 * would prevent jobs from running. */

#include <netdb.h>
#include <stdarg.h>
#include <string.h>

#include "yarn/conf/suggestions.h"
#include "yarn/setup/plan.h"

#define ADVICE_MAX 64u
#define NM "yarn.nodemanager."
#define NONSECURE NM "linux-container-executor.nonsecure-mode."

struct advice {
    struct nm_arena *arena;
    struct nm_setup_advice *list;
    size_t n;
    bool no_memory; /* there was no memory for a sentence */
};

nm_printf(3, 4) static void add(struct advice *v, enum nm_setup_subject subject, const char *format, ...)
{
    char text[2400];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (v->n == ADVICE_MAX)
        return;
    v->list[v->n] = (struct nm_setup_advice){subject, nm_arena_print(v->arena, "%s", text)};
    v->no_memory |= !v->list[v->n++].text;
}

#define warn(v, ...) add(v, NM_SETUP_PROBLEM, __VA_ARGS__)
#define remind(v, ...) add(v, NM_SETUP_REMINDER, __VA_ARGS__)

#define SETUP "nmd --yarn-setup %s%s" /* names the option, because --check-config prints this advice, too */

static void advise_on_hosts(struct advice *v, const struct nm_setup_request *w, const struct nm_setup_facts *f)
{
    for (size_t i = 0; i < f->n_hosts; i++) {
        char shown[200];

        if (f->hosts[i].unresolved != 0)
            warn(v, "%s can't be resolved on this host (%s), so the unit doesn't permit nmd to connect to it. When the "
                 "name can be resolved, run "
                 SETUP " again.",
                 nm_yarn_conf_printable(f->hosts[i].name, shown, sizeof shown), gai_strerror(f->hosts[i].unresolved),
                 w->conf_dir, w->options);
    }
}

#define NOT_YET \
    "The unit doesn't permit connections between nmd and application masters, reducers and data nodes on other " \
    "hosts yet. "

static void advise_on_network(struct advice *v, const struct nm_setup_request *w, const struct nm_setup_facts *f)
{
    if (w->allow[0])
        return;
    if (f->network)
        add(v, NM_SETUP_NETWORK,
            NOT_YET "Run " SETUP " --allow ADDRESS/BITS with the cluster's network. For the network of this host's "
                    "interface %s, which contains the ResourceManager, use --allow %s.",
            w->conf_dir, w->options, f->interface, f->network);
    else
        add(v, NM_SETUP_NETWORK,
            NOT_YET "If there are such hosts, run " SETUP " --allow ADDRESS/BITS with the cluster's network.",
            w->conf_dir, w->options);
}

static void advise_on_ports(struct advice *v, const struct nm_yarn_settings *s, const struct nm_setup_facts *f)
{
    char ports[200];
    size_t n = 0;

    if (s->node.port > 0)
        n += (size_t)snprintf(ports + n, sizeof ports - n, ", %u (" NM "address)", (unsigned)s->node.port);
    if (s->serves_web && s->web.port > 0)
        n += (size_t)snprintf(ports + n, sizeof ports - n, ", %u (pages)", (unsigned)s->web.port);
    if (s->has_shuffle)
        n += (size_t)snprintf(ports + n, sizeof ports - n, ", %u (shuffle)", (unsigned)s->shuffle_port);
    if (s->spark.name)
        n += (size_t)snprintf(ports + n, sizeof ports - n, ", %u (shuffle of Spark)", (unsigned)s->spark.port);
    if (n > 0)
        remind(v, "If the host has a firewall, it must permit connections from the cluster to TCP port %s.",
               ports + 2);
    remind(v, "The ResourceManager and all nodes must be able to resolve the name %s to this host (" NM "hostname).",
           f->node_name);
}

static void advise_on_users(struct advice *v, const struct nm_yarn_settings *s, const struct nm_setup_facts *f)
{
    const struct nm_yarn_executor *e = &s->executor_rules;

    if (s->limit_users) {
        if (!f->has_local_user)
            remind(v, "The user %s (" NONSECURE "local-user) has no account on this host, so containers can't run.",
                s->local_user);
        return;
    }
    remind(v, NONSECURE "limit-users is false: each submitter needs an account on this node.");
    if (e->file)
        remind(v, "Accounts with a uid below %ju can't run containers (min.user.id in %s). Check that the uids of the "
            "submitters are not lower.",
            (uintmax_t)e->min_uid, e->file);
}

static void advise_on_settings(struct advice *v, const struct nm_yarn_settings *s)
{
    for (size_t i = 0; i < nm_yarn_n_suggestions; i++) {
        const struct nm_yarn_suggestion *g = &nm_yarn_suggestions[i];
        _cleanup_free_ char *text = g->applies(s) ? nm_yarn_suggestion_text(g, s, true) : NULL;

        if (text)
            warn(v, "%s", text);
        else if (g->applies(s))
            v->no_memory = true;
    }
}

/* nmd can't read the ResourceManager's own configuration. */
static void advise_on_lending(struct advice *v, const struct nm_yarn_settings *s)
{
    if (!s->lending.enabled || s->lending.observes)
        return;
    remind(v, "nmd.lending lends nothing unless yarn.resourcemanager.opportunistic-container-allocation.enabled is "
           "true for the ResourceManager, and unless applications use the proxy "
           "(yarn.resourcemanager.scheduler.address%s = localhost:%u in their configuration).",
           s->ha ? ".ID, for each ID of yarn.resourcemanager.ha.rm-ids," : "", (unsigned)s->proxy_address.port);
    if (s->lending.application_max_mib < 0)
        remind(v, "nmd.lending.application-max-mb is -1: one application may be lent all memory that is unused in the "
               "cluster.");
}

static void advise_on_programs(struct advice *v, const struct nm_setup_request *w, const struct nm_setup_facts *f)
{
    if (!f->java_home)
        warn(v, "No Java was found, but most jobs need it. Install one, or name its directory with " SETUP
             " --java-home DIR.",
             w->conf_dir, w->options);
    if (f->java_warning)
        add(v, NM_SETUP_JAVA, "%s. %s%s: if jobs need another Java, name its directory with " SETUP
            " --java-home DIR.",
            f->java_warning, f->java_home ? "The unit gets " : "No Java is set", f->java_home ?: "", w->conf_dir,
            w->options);
    if (f->hadoop_warning)
        add(v, NM_SETUP_HADOOP, "%s. %s%s: if jobs need another Hadoop, remove that line and run " SETUP
            " with HADOOP_HOME=DIR in the environment.",
            f->hadoop_warning, f->hadoop_home ? "The unit gets " : "No Hadoop is set", f->hadoop_home ?: "",
            w->conf_dir,
            w->options);
    if (!f->hadoop_home)
        warn(v, "No Hadoop was found ($HADOOP_HOME, hadoop-env.sh, /usr/lib/hadoop, /opt/hadoop, /usr/local/hadoop): "
             "jobs must bring their own, for example with mapreduce.application.framework.path. Otherwise fetch "
             "commands and class paths with $HADOOP_COMMON_HOME fail.");
}

int nm_setup_advise(const struct nm_setup_request *w, const struct nm_yarn_settings *s, const struct nm_setup_facts *f,
                    struct nm_arena *a, struct nm_setup_advice **ret, size_t *ret_n)
{
    struct advice v = {.arena = a, .list = nm_arena_alloc(a, ADVICE_MAX * sizeof *v.list)};

    if (!v.list)
        return -ENOMEM;
    advise_on_hosts(&v, w, f);
    advise_on_network(&v, w, f);
    advise_on_ports(&v, s, f);
    advise_on_users(&v, s, f);
    advise_on_settings(&v, s);
    advise_on_lending(&v, s);
    advise_on_programs(&v, w, f);
    if (v.no_memory)
        return -ENOMEM;
    *ret = v.list;
    *ret_n = v.n;
    return 0;
}
