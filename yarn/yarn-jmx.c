/* SPDX-License-Identifier: Apache-2.0 */

/* The page /jmx: collects the figures for the beans (web/beans.h), and handles the parameters qry and get as Hadoop's
 * servlet does. */

#include "yarn/yarn-state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/status.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/log.h"
#include "yarn/web/beans.h"
#include "yarn/web/object-name.h"

/* What the beans point to. */
struct figures {
    struct nm_status status;
    struct nm_yarn_node_figures node;
    struct nm_yarn_launcher_figures launcher;
    struct nm_yarn_shuffle_figures shuffle, spark;
    struct nm_yarn_beans beans;
};

/* ---- figures ------------------------------------------------------------------------------ */

static uint64_t count_lines(int from, int to)
{
    uint64_t n = 0;

    for (int level = from; level <= to; level++)
        n += nm_log_count(level);
    return n;
}

/* Reads the memory of this process. The figures stay 0 if it can't be read. */
static void get_memory(struct nm_yarn_process_figures *p)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned long size, resident, shared, text, library, data;
    char line[200];

    if (nm_read_file_at(AT_FDCWD, "/proc/self/statm", line, sizeof line, NULL) < 0 ||
        sscanf(line, "%lu %lu %lu %lu %lu %lu", &size, &resident, &shared, &text, &library, &data) != 6)
        return;
    p->anonymous_bytes = nm_sub_u64(resident, shared) * page;
    p->file_bytes = shared * page;
    p->data_bytes = data * page;
    p->mapped_bytes = nm_sub_u64(size, data) * page;
}

static uint64_t usec_of(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * NM_USEC_PER_SEC + (uint64_t)t->tv_usec;
}

static void get_process(struct nm_yarn_process_figures *p)
{
    struct rusage use;

    p->pid = getpid();
    get_memory(p);
    if (getrusage(RUSAGE_SELF, &use) == 0)
        p->cpu_usec = usec_of(&use.ru_utime) + usec_of(&use.ru_stime);
    p->log_fatal = count_lines(LOG_EMERG, LOG_CRIT);
    p->log_error = nm_log_count(LOG_ERR);
    p->log_warn = nm_log_count(LOG_WARNING);
    p->log_info = count_lines(LOG_NOTICE, LOG_INFO);
}

static void collect(const struct nm_yarn *y, struct figures *f)
{
    const struct nm_yarn_services *s = y->services;
    int32_t vcores;

    nm_manager_get_status(y->manager, &f->status);
    nm_yarn_node_get_figures(s->node, &f->node);
    nm_yarn_launcher_get_figures(s->launcher, &f->launcher);
    if (s->shuffle)
        nm_yarn_shuffle_get_figures(s->shuffle, &f->shuffle);
    if (s->spark)
        nm_yarn_spark_get_figures(s->spark, &f->spark);
    f->beans = (struct nm_yarn_beans){
        .host = y->host,
        .status = &f->status,
        .node = &f->node,
        .launcher = &f->launcher,
        .shuffle = s->shuffle ? &f->shuffle : NULL,
        .spark = s->spark ? &f->spark : NULL,
        .spark_name = y->settings->spark.bean,
        .realtime_usec = nm_realtime_usec(),
    };
    nm_yarn_get_size(y, &f->status, &f->beans.memory_mib, &vcores);
    f->beans.vcores = vcores;
    get_process(&f->beans.process);
}

/* ---- answers ------------------------------------------------------------------------------ */

/* The status is also 200 if the answer describes an error, because Hadoop's servlet sends it before it sets another. */
static int answer(struct nm_upstream_page *page, json_t *j)
{
    page->status = 200;
    page->json = j;
    return j ? 0 : -ENOMEM;
}

static int refuse(struct nm_upstream_page *page, const char *message)
{
    return answer(page, json_pack("{s:s, s:s}", "result", "ERROR", "message", message));
}

/* Answers a request for one attribute: BEAN::ATTRIBUTE. */
static int answer_attribute(const struct nm_yarn *y, const char *get, struct nm_upstream_page *page)
{
    const char *colons = strstr(get, "::"), *attribute = colons ? colons + 2 : NULL;
    _cleanup_free_ char *pattern = colons ? strndup(get, (size_t)(colons - get)) : NULL;
    struct figures f;

    if (!attribute || !*attribute || strstr(attribute, "::"))
        return refuse(page, "query format is not as expected.");
    if (!pattern)
        return -ENOMEM;
    if (!nm_yarn_object_name_is_valid(pattern))
        return refuse(page, "The name of the bean is not valid.");
    collect(y, &f);
    return answer(page, nm_yarn_beans_get(&f.beans, pattern, attribute));
}

int nm_yarn_jmx(struct nm_yarn *y, const struct nm_upstream_query *q, struct nm_upstream_page *ret)
{
    const char *get = q->parameter(q->request, "get"), *pattern = q->parameter(q->request, "qry") ?: "*:*";
    struct figures f;

    if (get)
        return answer_attribute(y, get, ret);
    if (!nm_yarn_object_name_is_valid(pattern))
        return refuse(ret, "The pattern for names of beans is not valid.");
    collect(y, &f);
    return answer(ret, nm_yarn_beans_query(&f.beans, pattern));
}
