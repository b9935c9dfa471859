/* SPDX-License-Identifier: Apache-2.0 */

/* See allocator.h. */

#include "yarn/allocator/allocator.h"

#include <stdarg.h>

static const struct skip_words {
    const char *name, *words; /* words: the text that follows a count in a sentence */
} skip_reasons[NM_YARN_N_SKIP_REASONS] = {
    [NM_YARN_SKIP_BLACKLISTED] = {"blacklisted", "on the application's blacklist"},
    [NM_YARN_SKIP_OTHER_PARTITION] = {"other_partition", "in another partition"},
    [NM_YARN_SKIP_ELSEWHERE] = {"elsewhere", "not on a requested host or rack"},
    [NM_YARN_SKIP_USED] = {"used", "with a container from the same heartbeat (at most one per host)"},
    [NM_YARN_SKIP_FULL] = {"full", "with a full queue, as far as this node knows"},
    [NM_YARN_SKIP_BUSIER] = {"busier", "with more containers from the same heartbeat"},
    [NM_YARN_SKIP_OTHER_KIND] = {"other_kind", "with another NodeManager, where a lent container would only wait"},
    [NM_YARN_SKIP_UNANSWERED] = {"unanswered", "that had not answered how much memory was unused"},
    [NM_YARN_SKIP_NOT_ADMITTING] = {"not_admitting", "where no opportunistic container was started at that time"},
    [NM_YARN_SKIP_NO_MEMORY] = {"no_memory", "with too little unused memory"},
    [NM_YARN_SKIP_LESS_MEMORY] = {"less_memory", "with less, or unknown, unused memory"},
    [NM_YARN_SKIP_LENT_LIMIT] = {"lent_limit", "where no more memory may be lent to the application"},
};

const char *nm_yarn_alloc_rule_name(enum nm_yarn_alloc_rule rule)
{
    static const char *const names[NM_YARN_ALLOC_N_RULES] = {"node-local", "rack-local", "any"};

    return names[rule];
}

const char *nm_yarn_skip_reason_name(enum nm_yarn_skip_reason reason)
{
    return skip_reasons[reason].name;
}

/* Appends text. Text beyond the size of the buffer is cut. */
nm_printf(3, 4) static void add(char *buf, size_t size, const char *format, ...)
{
    size_t n = strlen(buf);
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(buf + n, size - n, format, ap);
    va_end(ap);
}

void nm_yarn_placement_summary(const struct nm_yarn_placement *p, char *buf, size_t size)
{
    (void)snprintf(buf, size, "placed on %s:%d, %s", p->node->host, p->node->port,
                   nm_yarn_alloc_rule_name(p->why.rule));
}

static const char *plural(uint32_t n)
{
    return n == 1 ? "" : "s";
}

static void add_rule(const struct nm_yarn_placement *p, char *buf, size_t size)
{
    const struct nm_yarn_alloc_why *w = &p->why;

    switch (w->rule) {
    case NM_YARN_ALLOC_NODE_LOCAL:
        add(buf, size, "It was placed on %s because the application requested this host (%u host%s in all).\n",
            p->node->host, w->hosts, plural(w->hosts));
        return;
    case NM_YARN_ALLOC_RACK_LOCAL:
        add(buf, size, "It was placed on %s because the application requested its rack, %s",
            p->node->host, p->node->rack);
        if (w->hosts > 0)
            add(buf, size, "; none of the %u host%s that it requested was available", w->hosts, plural(w->hosts));
        add(buf, size, ".\n");
        return;
    case NM_YARN_ALLOC_ANY:
    case NM_YARN_ALLOC_N_RULES:
        break;
    }
    if (w->hosts + w->racks == 0)
        add(buf, size, "It was placed on %s because the application accepts any host.\n", p->node->host);
    else
        add(buf, size,
            "It was placed on %s because none of the %u host%s and %u rack%s that the application requested was "
            "available, and the application accepts any host.\n",
            p->node->host, w->hosts, plural(w->hosts), w->racks, plural(w->racks));
}

static void add_list(const struct nm_yarn_alloc_why *w, char *buf, size_t size)
{
    bool first = true;

    add(buf, size,
        "The node was number %u of the %u node%s that the ResourceManager had listed, the least loaded first",
        (unsigned)w->position, (unsigned)w->listed, plural(w->listed));
    for (size_t i = 0; i < NM_YARN_N_SKIP_REASONS; i++) {
        if (w->skipped[i] == 0)
            continue;
        add(buf, size, "%s%u %s", first ? "; passed over: " : "; ", (unsigned)w->skipped[i], skip_reasons[i].words);
        first = false;
    }
    add(buf, size, ".\n");
}

void nm_yarn_placement_explain(const struct nm_yarn_placement *p, char *buf, size_t size)
{
    buf[0] = '\0';
    add_rule(p, buf, size);
    add_list(&p->why, buf, size);
    add(buf, size, "The container has %lld MiB and %d vcore%s at priority %d. Its request waited for %.3f s.\n",
        (long long)p->size.memory_mib, p->size.vcores, plural((uint32_t)p->size.vcores), p->priority,
        (double)p->why.waited_usec / (double)NM_USEC_PER_SEC);
}
