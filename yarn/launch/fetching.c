/* SPDX-License-Identifier: Apache-2.0 */

/* See resources.h. */

#include "yarn/launch/resources.h"

#include <inttypes.h>
#include <stdlib.h>

#include "util/macros.h"
#include "util/utf8.h"

/* Names of variables that locate Java and Hadoop, or that Hadoop's scripts need to start Hadoop's client. Other
 * variables of nmd are not passed to fetch commands, because the container's user can see the command's environment. */
static const char *const names[] = {
    "JAVA_HOME", "HADOOP_CONF_DIR", "HADOOP_HOME", "HADOOP_COMMON_HOME", "HADOOP_HDFS_HOME", "HADOOP_YARN_HOME",
    "HADOOP_MAPRED_HOME", "HADOOP_LIBEXEC_DIR", "HADOOP_OPTIONAL_TOOLS", "HADOOP_CLASSPATH",
    "HADOOP_USER_CLASSPATH_FIRST", "HADOOP_OPTS", "HADOOP_CLIENT_OPTS", "HADOOP_HEAPSIZE_MAX", "HADOOP_ROOT_LOGGER",
    "LD_LIBRARY_PATH",
};

static int put(json_t *environment, const char *name, const char *value)
{
    return json_object_set_new(environment, name, json_string(value)) < 0 ? -ENOMEM : 0;
}

/* Sets a variable for fetch commands, unless nmd's own environment contains it. */
static int put_default(json_t *environment, const char *name, const char *value)
{
    return json_object_get(environment, name) ? 0 : put(environment, name, value);
}

/* Returns a variable of nmd's environment. NULL: the variable isn't set, or its value isn't valid UTF-8. */
static const char *get_own(const char *name)
{
    const char *value = getenv(name);

    return value && value[nm_utf8_prefix(value)] == '\0' ? value : NULL;
}

/* Returns nmd's PATH with HADOOP_HOME/bin, because the program `hadoop` may be there. */
char *nm_yarn_fetching_path(void)
{
    const char *home = get_own("HADOOP_HOME");
    char *path;

    if (!home || !*home)
        return strdup(NM_LOCALIZER_PATH);
    return asprintf(&path, "%s/bin:" NM_LOCALIZER_PATH, home) < 0 ? NULL : path;
}

static int put_path(json_t *environment)
{
    _cleanup_free_ char *path = nm_yarn_fetching_path();

    return path ? put(environment, "PATH", path) : -ENOMEM;
}

static int fill_environment(json_t *environment, const struct nm_yarn_settings *s)
{
    char heap[32];
    int r = 0;

    for (size_t i = 0; r == 0 && i < NM_ARRAY_SIZE(names); i++) {
        const char *value = get_own(names[i]);

        if (value)
            r = put(environment, names[i], value);
    }
    if (r == 0 && s->dir)
        r = put_default(environment, "HADOOP_CONF_DIR", s->dir);
    (void)snprintf(heap, sizeof heap, "%" PRId64 "m", s->localizer_memory_mib);
    if (r == 0)
        r = put_default(environment, "HADOOP_HEAPSIZE_MAX", heap);
    return r == 0 ? put_path(environment) : r;
}

json_t *nm_yarn_fetching(const struct nm_yarn_settings *s)
{
    json_auto_t *environment = json_object(), *limits = json_object();

    if (!environment || !limits || fill_environment(environment, s) < 0)
        return NULL;
    if (s->command_memory_mib > 0 &&
        json_object_set_new(limits, "command_memory_bytes",
                            json_integer(s->command_memory_mib * (int64_t)NM_MIB)) < 0)
        return NULL;
    return json_pack("{s:O, s:O, s:O, s:O, s:O}", "name_nodes", s->name_nodes, "webhdfs", s->webhdfs, "commands",
                     s->commands, "environment", environment, "limits", limits);
}
