/* SPDX-License-Identifier: Apache-2.0 */

/* See beans.h. */

#include "yarn/web/beans.h"

#include <math.h>
#include <sys/utsname.h>

#include "yarn/web/object-name.h"

#define SERVICE "Hadoop:service=NodeManager,name="
#define BYTES_PER_M (1024.0 * 1024)

/* A bean that is being made. Its members are a name or a number, which need no escaping. */
struct bean {
    json_t *o;
    bool failed; /* there was no memory for a member */
};

static void put(struct bean *b, const char *name, json_t *value)
{
    b->failed |= json_object_set_new(b->o, name, value) < 0;
}

static void put_number(struct bean *b, const char *name, int64_t value)
{
    put(b, name, json_integer(value));
}

static void put_count(struct bean *b, const char *name, uint64_t value)
{
    put_number(b, name, (int64_t)NM_MIN(value, (uint64_t)INT64_MAX));
}

static void put_real(struct bean *b, const char *name, double value)
{
    put(b, name, json_real(value));
}

static void put_rate(struct bean *b, const char *number, const char *mean, const struct nm_yarn_rate *r)
{
    put_count(b, number, r->n);
    put_real(b, mean, nm_yarn_rate_mean_msec(r));
}

/* The tags that each of Hadoop's sources of metrics has. */
static void put_tags(struct bean *b, const struct nm_yarn_beans *f, const char *context)
{
    put(b, "tag.Context", json_string(context));
    put(b, "tag.Hostname", json_string(f->host));
}

/* ---- NodeManagerMetrics ------------------------------------------------------------------- */

static int64_t gib_up(int64_t mib)
{
    return (mib + 1023) / 1024;
}

/* Rounds down, also below zero: opportunistic containers may request more than the node has. */
static int64_t gib_down(int64_t mib)
{
    return (int64_t)floor((double)mib / 1024);
}

static int64_t gib_of(uint64_t bytes)
{
    return (int64_t)(bytes >> 30);
}

static void put_containers(struct bean *b, const struct nm_yarn_beans *f)
{
    const struct nm_yarn_node_figures *n = f->node;

    put_count(b, "ContainersLaunched", n->launched);
    put_count(b, "ContainersCompleted", n->succeeded);
    put_count(b, "ContainersFailed", n->failed);
    put_count(b, "ContainersKilled", n->killed);
    put_count(b, "ContainersRolledBackOnFailure", n->rolled_back);
    put_count(b, "ContainersReIniting", n->reiniting);
    put_count(b, "ContainersIniting", n->initing);
    put_count(b, "ContainersRunning", n->running);
    put_count(b, "ContainersPaused", n->paused);
    put_count(b, "ContainersGuaranteedQueued", n->queued_guaranteed);
    put_count(b, "ContainersOpportunisticQueued", n->queued_opportunistic);
    put_count(b, "RunningOpportunisticContainers", n->started_opportunistic);
    put_count(b, "ApplicationsRunning", n->n_applications);
    put_rate(b, "ContainerLaunchDurationNumOps", "ContainerLaunchDurationAvgTime", &n->launch);
}

static void put_allocations(struct bean *b, const struct nm_yarn_beans *f)
{
    const struct nm_yarn_node_figures *n = f->node;

    put_count(b, "AllocatedContainers", n->n);
    put_number(b, "AllocatedGB", gib_up(n->memory_mib));
    put_number(b, "AllocatedVCores", n->vcores);
    put_number(b, "AvailableGB", gib_down(f->memory_mib - n->memory_mib));
    put_number(b, "AvailableVCores", f->vcores - n->vcores);
    put_number(b, "AllocatedOpportunisticGB", gib_up(n->opportunistic_memory_mib));
    put_number(b, "AllocatedOpportunisticVCores", n->opportunistic_vcores);
}

/* The virtual memory is RAM and swap in use, as in the node's heartbeats. */
static void put_uses(struct bean *b, const struct nm_yarn_beans *f)
{
    const struct nm_yarn_node_figures *n = f->node;
    const struct nm_node_sample *s = &f->status->node;
    const uint64_t used = nm_sub_u64(s->memory_total_bytes, s->memory_available_bytes);
    const double share =
        (double)n->cpu_millicores / (double)NM_MAX(f->status->capacity.cpu_millicores, (uint64_t)1);

    put_number(b, "ContainerUsedMemGB", gib_of(n->used_bytes));
    put_number(b, "ContainerUsedVMemGB", gib_of(n->used_bytes + n->swapped_bytes));
    put_real(b, "ContainerCpuUtilization", share * f->status->capacity_vcores_milli / 1000.0);
    put_number(b, "NodeUsedMemGB", gib_of(used));
    put_number(b, "NodeUsedVMemGB", gib_of(used + nm_sub_u64(s->swap_total_bytes, s->swap_free_bytes)));
    put_real(b, "NodeCpuUtilization", s->cpu_valid ? s->cpu_busy_millicores / 1000.0 : -1);
    put_count(b, "ContainersMonitorCostTime", f->status->sample_cost_usec / NM_USEC_PER_MSEC);
}

static int64_t percent_of(uint64_t part, uint64_t rest)
{
    return part + rest > 0 ? (int64_t)(100 * part / (part + rest)) : 0;
}

static void put_directories(struct bean *b, const struct nm_yarn_beans *f)
{
    const struct nm_yarn_launcher_figures *l = f->launcher;

    put_count(b, "BadLocalDirs", l->n_bad_local);
    put_count(b, "BadLogDirs", l->n_bad_log);
    put_number(b, "GoodLocalDirsDiskUtilizationPerc", (int64_t)(100 * l->local_use));
    put_number(b, "GoodLogDirsDiskUtilizationPerc", (int64_t)(100 * l->log_use));
    put_count(b, "LocalizedCacheMissBytes", l->fetched_bytes);
    put_count(b, "LocalizedCacheHitBytes", l->cached_bytes);
    put_number(b, "LocalizedCacheHitBytesRatio", percent_of(l->cached_bytes, l->fetched_bytes));
    put_count(b, "LocalizedCacheMissFiles", l->n_fetched);
    put_count(b, "LocalizedCacheHitFiles", l->n_cached);
    put_number(b, "LocalizedCacheHitFilesRatio", percent_of(l->n_cached, l->n_fetched));
    put_rate(b, "LocalizationDurationMillisNumOps", "LocalizationDurationMillisAvgTime", &l->localization);
}

static void fill_node_manager_metrics(struct bean *b, const struct nm_yarn_beans *f)
{
    put_tags(b, f, "yarn");
    put_containers(b, f);
    put_allocations(b, f);
    put_uses(b, f);
    put_directories(b, f);
}

/* ---- the other beans of Hadoop ------------------------------------------------------------ */

static void fill_node_manager(struct bean *b, const struct nm_yarn_beans *f)
{
    (void)f;
    put(b, "SecurityEnabled", json_false()); /* nmd doesn't start in a cluster with Kerberos */
}

static void fill_shuffle_metrics(struct bean *b, const struct nm_yarn_beans *f)
{
    put_tags(b, f, "mapred");
    put_count(b, "ShuffleOutputBytes", f->shuffle->sent_bytes);
    put_count(b, "ShuffleOutputsFailed", f->shuffle->outputs_failed);
    put_count(b, "ShuffleOutputsOK", f->shuffle->outputs_ok);
    put_count(b, "ShuffleConnections", f->shuffle->connections);
}

/* Those of Spark's metrics that nm-spark-shuffle counts. */
static void fill_spark_metrics(struct bean *b, const struct nm_yarn_beans *f)
{
    put_count(b, "blockTransferRate_count", f->spark->outputs_ok);
    put_count(b, "blockTransferRateBytes_count", f->spark->sent_bytes);
    put_count(b, "numActiveConnections", f->spark->connections);
}

/* nmd's memory in the place of a JVM's: anonymous memory for the heap, mapped files for the memory outside of it. nmd
 * limits neither, for which a JVM shows -1. nmd has one thread, which runs while it makes this answer, and no
 * collector of garbage. */
static void fill_jvm_metrics(struct bean *b, const struct nm_yarn_beans *f)
{
    const struct nm_yarn_process_figures *p = &f->process;

    put_tags(b, f, "jvm");
    put(b, "tag.ProcessName", json_string("NodeManager"));
    put(b, "tag.SessionId", json_null());
    put_real(b, "MemHeapUsedM", (double)p->anonymous_bytes / BYTES_PER_M);
    put_real(b, "MemHeapCommittedM", (double)p->data_bytes / BYTES_PER_M);
    put_real(b, "MemHeapMaxM", -1);
    put_real(b, "MemNonHeapUsedM", (double)p->file_bytes / BYTES_PER_M);
    put_real(b, "MemNonHeapCommittedM", (double)p->mapped_bytes / BYTES_PER_M);
    put_real(b, "MemNonHeapMaxM", -1);
    put_number(b, "GcCount", 0);
    put_number(b, "GcTimeMillis", 0);
    put_number(b, "ThreadsNew", 0);
    put_number(b, "ThreadsRunnable", 1);
    put_number(b, "ThreadsBlocked", 0);
    put_number(b, "ThreadsWaiting", 0);
    put_number(b, "ThreadsTimedWaiting", 0);
    put_number(b, "ThreadsTerminated", 0);
    put_count(b, "LogFatal", p->log_fatal);
    put_count(b, "LogError", p->log_error);
    put_count(b, "LogWarn", p->log_warn);
    put_count(b, "LogInfo", p->log_info);
}

/* ---- the beans of a JVM ------------------------------------------------------------------- */

static json_t *memory_use(uint64_t used_bytes, uint64_t committed_bytes)
{
    return json_pack("{s:I, s:i, s:I}", "committed", (json_int_t)committed_bytes, "max", -1, "used",
                     (json_int_t)used_bytes);
}

static void fill_memory(struct bean *b, const struct nm_yarn_beans *f)
{
    put(b, "HeapMemoryUsage", memory_use(f->process.anonymous_bytes, f->process.data_bytes));
    put(b, "NonHeapMemoryUsage", memory_use(f->process.file_bytes, f->process.mapped_bytes));
}

static void fill_threading(struct bean *b, const struct nm_yarn_beans *f)
{
    (void)f;
    put_number(b, "ThreadCount", 1);
    put_number(b, "PeakThreadCount", 1);
    put_number(b, "TotalStartedThreadCount", 1);
    put_number(b, "DaemonThreadCount", 0);
}

static void fill_runtime(struct bean *b, const struct nm_yarn_beans *f)
{
    const uint64_t begun_usec = f->status->started_realtime_usec;
    char name[300];

    (void)snprintf(name, sizeof name, "%d@%s", f->process.pid, f->host);
    put(b, "Name", json_string(name));
    put_count(b, "StartTime", begun_usec / NM_USEC_PER_MSEC);
    put_count(b, "Uptime", nm_sub_u64(f->realtime_usec, begun_usec) / NM_USEC_PER_MSEC);
}

static void fill_operating_system(struct bean *b, const struct nm_yarn_beans *f)
{
    const struct nm_node_sample *s = &f->status->node;
    struct utsname name;

    if (uname(&name) == 0) {
        put(b, "Name", json_string(name.sysname));
        put(b, "Arch", json_string(name.machine));
        put(b, "Version", json_string(name.release));
    }
    put_number(b, "AvailableProcessors", s->n_cpus);
    put_count(b, "TotalPhysicalMemorySize", s->memory_total_bytes);
    put_count(b, "TotalSwapSpaceSize", s->swap_total_bytes);
    put_count(b, "FreeSwapSpaceSize", s->swap_free_bytes);
    put_count(b, "ProcessCpuTime", f->process.cpu_usec * 1000);
    if (s->cpu_valid)
        put_real(b, "SystemCpuLoad", s->cpu_busy_millicores / 1000.0 / NM_MAX(s->n_cpus, 1u));
}

/* ---- queries ------------------------------------------------------------------------------ */

static const struct {
    const char *name, *type;
    void (*fill)(struct bean *b, const struct nm_yarn_beans *f);
} beans[] = {
    {SERVICE "NodeManagerMetrics", "NodeManagerMetrics", fill_node_manager_metrics},
    {SERVICE "JvmMetrics", "JvmMetrics", fill_jvm_metrics},
    {SERVICE "ShuffleMetrics", "ShuffleMetrics", fill_shuffle_metrics},
    {SERVICE, "", fill_spark_metrics}, /* the name and the type end with spark_name */
    {SERVICE "NodeManager", "org.apache.hadoop.yarn.server.nodemanager.NodeManager", fill_node_manager},
    {"java.lang:type=Memory", "sun.management.MemoryImpl", fill_memory},
    {"java.lang:type=Threading", "sun.management.ThreadImpl", fill_threading},
    {"java.lang:type=Runtime", "sun.management.RuntimeImpl", fill_runtime},
    {"java.lang:type=OperatingSystem", "com.sun.management.internal.OperatingSystemImpl", fill_operating_system},
};

static const char *end_of_name(const struct nm_yarn_beans *f, size_t i)
{
    return beans[i].fill == fill_spark_metrics ? f->spark_name : "";
}

/* Returns the members of bean i, with its name and type. NULL: no memory. */
static json_t *make(const struct nm_yarn_beans *f, size_t i)
{
    struct bean b = {.o = json_object()};
    const char *end = end_of_name(f, i);

    put(&b, "name", json_sprintf("%s%s", beans[i].name, end));
    put(&b, "modelerType", json_sprintf("%s%s", beans[i].type, end));
    beans[i].fill(&b, f);
    if (!b.failed)
        return b.o;
    json_decref(b.o);
    return NULL;
}

static bool is_wanted(const struct nm_yarn_beans *f, size_t i, const char *pattern)
{
    char name[400];

    if ((beans[i].fill == fill_shuffle_metrics && !f->shuffle) || (beans[i].fill == fill_spark_metrics && !f->spark))
        return false;
    (void)snprintf(name, sizeof name, "%s%s", beans[i].name, end_of_name(f, i));
    return nm_yarn_object_name_is_valid(name) && nm_yarn_object_name_matches(pattern, name);
}

static json_t *finish(json_t *list, bool failed)
{
    if (!failed)
        return json_pack("{s:o}", "beans", list);
    json_decref(list);
    return NULL;
}

json_t *nm_yarn_beans_query(const struct nm_yarn_beans *b, const char *pattern)
{
    json_t *list = json_array();
    bool failed = !list;

    for (size_t i = 0; i < NM_ARRAY_SIZE(beans) && !failed; i++)
        if (is_wanted(b, i, pattern))
            failed = json_array_append_new(list, make(b, i)) < 0;
    return finish(list, failed);
}

/* Returns the bean with this attribute alone, or with a description of the error. */
static json_t *with_attribute(json_t *bean, const char *attribute, bool *ret_found)
{
    json_t *value = json_object_get(bean, attribute), *alone;
    char message[300];

    if (!bean)
        return NULL;
    *ret_found = value && !json_is_null(value);
    alone = json_pack("{s:O, s:O}", "name", json_object_get(bean, "name"), "modelerType",
                      json_object_get(bean, "modelerType"));
    if (*ret_found)
        (void)json_object_set(alone, attribute, value);
    else {
        (void)snprintf(message, sizeof message, "No attribute with name %.200s was found.", attribute);
        (void)json_object_set_new(alone, "result", json_string("ERROR"));
        (void)json_object_set_new(alone, "message", json_string(message));
    }
    return alone;
}

json_t *nm_yarn_beans_get(const struct nm_yarn_beans *b, const char *pattern, const char *attribute)
{
    json_t *list = json_array(), *bean;
    bool failed = !list, found = true;

    for (size_t i = 0; i < NM_ARRAY_SIZE(beans) && !failed && found; i++)
        if (is_wanted(b, i, pattern)) {
            bean = make(b, i);
            failed = json_array_append_new(list, with_attribute(bean, attribute, &found)) < 0;
            json_decref(bean);
        }
    return finish(list, failed);
}
