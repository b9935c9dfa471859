/* SPDX-License-Identifier: Apache-2.0 */

/* See aux-command.h. */

#include "yarn/launch/aux-command.h"

#include <glob.h>
#include <limits.h>

#include "util/macros.h"
#include "yarn/launch/aux-dirs.h"

#define SYSTEM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define NODE_MANAGER_JAR "hadoop-yarn-server-nodemanager*.jar"
#define ENV_MAX 16
#define OPTIONS_MAX 64 /* words of nmd.aux-host.java-options */

/* ---- Java --------------------------------------------------------------------------------- */

static int look_in(const char *dir, size_t n, char **ret)
{
    char path[PATH_MAX];

    if (n == 0 || *dir != '/' || snprintf(path, sizeof path, "%.*s/java", (int)n, dir) >= (int)sizeof path ||
        access(path, X_OK) < 0)
        return -ENOENT;
    *ret = strdup(path);
    return *ret ? 0 : -ENOMEM;
}

static int look_in_path(const char *dirs, char **ret)
{
    int r = -ENOENT;

    for (size_t n; r == -ENOENT && *dirs; dirs += n + (dirs[n] == ':')) {
        n = strcspn(dirs, ":");
        r = look_in(dirs, n, ret);
    }
    return r;
}

static int find_java(const struct nm_yarn_settings *s, char **ret, char **ret_message)
{
    const char *home = getenv("JAVA_HOME"), *path = getenv("PATH");
    char bin[PATH_MAX];
    int r;

    if (*s->aux.java) {
        if (*s->aux.java != '/' || access(s->aux.java, X_OK) < 0)
            return nm_fail(ret_message, -ENOENT, "nmd.aux-host.java = '%s': must be the absolute path of a program",
                           s->aux.java);
        *ret = strdup(s->aux.java);
        return *ret ? 0 : -ENOMEM;
    }
    if (home && *home) {
        (void)snprintf(bin, sizeof bin, "%s/bin", home);
        r = look_in(bin, strlen(bin), ret);
    } else
        r = look_in_path(path && *path ? path : SYSTEM_PATH, ret);
    if (r == -ENOENT)
        return nm_fail(ret_message, r, "the auxiliary service '%s' is written in Java, but this host has no java "
                       "program %s%s; install Java, set JAVA_HOME in nmd's environment, or set nmd.aux-host.java",
                       s->aux.names[0], home && *home ? "in $JAVA_HOME/bin: JAVA_HOME is " : "in PATH",
                       home && *home ? home : "");
    return r;
}

/* ---- class path --------------------------------------------------------------------------- */

/* Returns 1 if the entry is Hadoop's jar with the NodeManager's classes, or a directory of jars with it. */
static int has_node_manager(const char *entry, size_t n)
{
    char pattern[PATH_MAX];
    glob_t found = {};
    int r;

    if (n > 2 && strncmp(entry + n - 2, "/*", 2) == 0)
        r = snprintf(pattern, sizeof pattern, "%.*s/" NODE_MANAGER_JAR, (int)n - 2, entry);
    else if (memmem(entry, n, "/hadoop-yarn-server-nodemanager", 31))
        r = snprintf(pattern, sizeof pattern, "%.*s", (int)n, entry);
    else
        return 0;
    if (r < 0 || (size_t)r >= sizeof pattern)
        return 0;
    r = glob(pattern, GLOB_NOSORT, NULL, &found);
    globfree(&found);
    return r == 0;
}

/* Checks that the class path has the NodeManager's classes. Java ignores entries that don't exist, and `hadoop
 * classpath` prints such entries. */
static bool is_complete(const char *path)
{
    for (size_t n; *path; path += n + (path[n] == ':')) {
        n = strcspn(path, ":");
        if (*path == '/' && has_node_manager(path, n))
            return true;
    }
    return false;
}

/* Makes the class path of a distribution of Hadoop from the variables that its scripts use. */
static char *make_default(void)
{
    const char *home = getenv("HADOOP_HOME"), *common = getenv("HADOOP_COMMON_HOME") ?: home,
               *hdfs = getenv("HADOOP_HDFS_HOME") ?: home ?: common,
               *yarn = getenv("HADOOP_YARN_HOME") ?: home ?: common,
               *mapred = getenv("HADOOP_MAPRED_HOME") ?: home ?: common;

    if (!common || !*common)
        return strdup("");
    return nm_strdup_printf("%1$s/share/hadoop/common/*:%1$s/share/hadoop/common/lib/*:%2$s/share/hadoop/hdfs/*:"
                            "%2$s/share/hadoop/hdfs/lib/*:%3$s/share/hadoop/mapreduce/*:%4$s/share/hadoop/yarn/*:"
                            "%4$s/share/hadoop/yarn/lib/*", common, hdfs, mapred, yarn);
}

static int find_classes(const struct nm_yarn_settings *s, char **ret, char **ret_message)
{
    _cleanup_free_ char *path = *s->aux.class_path ? strdup(s->aux.class_path) : make_default();

    if (!path)
        return -ENOMEM;
    if (access(s->aux.jar, R_OK) < 0)
        return nm_fail(ret_message, -ENOENT, "the auxiliary service '%s' is written in Java, and needs nmd's jar for "
                       "such services, but %s: %s; install the package nmd-aux-host, or set nmd.aux-host.jar",
                       s->aux.names[0], s->aux.jar, strerror(errno));
    if (!*path)
        return nm_fail(ret_message, -ENOENT, "the auxiliary service '%s' is written in Java, and needs Hadoop's jars, "
                       "but neither nmd.aux-host.class-path nor HADOOP_HOME in nmd's environment says where they are",
                       s->aux.names[0]);
    if (!is_complete(path))
        return nm_fail(ret_message, -ENOENT, "the auxiliary service '%s' is written in Java, and needs Hadoop's jars, "
                       "but no " NODE_MANAGER_JAR " is in the class path %.300s; set nmd.aux-host.class-path to the "
                       "output of 'hadoop classpath'", s->aux.names[0], path);
    *ret = nm_strdup_printf("%s%s%s:%s", s->dir ?: "", s->dir ? ":" : "", path, s->aux.jar);
    return *ret ? 0 : -ENOMEM;
}

/* ---- arguments and environment ------------------------------------------------------------ */

/* A list that remembers whether an allocation failed. */
struct list {
    char **items;
    size_t n, room;
    bool failed;
};

static void add(struct list *l, char *text)
{
    if (!text || l->n + 1 >= l->room) {
        l->failed = true;
        free(text);
        return;
    }
    l->items[l->n++] = text;
}

static void add_options(struct list *l, const char *options)
{
    static const char blanks[] = " \t\n";

    for (options += strspn(options, blanks); *options; options += strspn(options, blanks)) {
        const size_t n = strcspn(options, blanks);

        add(l, strndup(options, n));
        options += n;
    }
}

static int make_argv(const struct nm_yarn_settings *s, const char *dir, const char *classes, char ***ret)
{
    struct list l = {.room = OPTIONS_MAX + 16 + NM_STRV_LENGTH(s->aux.names)};

    l.items = calloc(l.room, sizeof *l.items);
    *ret = l.items;
    if (!l.items)
        return -ENOMEM;
    add(&l, strdup("java"));
    add(&l, nm_strdup_printf("-Xmx%jdm", (intmax_t)s->aux.heap_mib));
    add(&l, strdup("-XX:+ExitOnOutOfMemoryError")); /* a service that lacks memory can't be relied on */
    add(&l, strdup("-XX:+DisplayVMOutputToStderr"));
    add(&l, nm_strdup_printf("-Djava.io.tmpdir=%s/tmp", dir));
    add(&l, nm_strdup_printf("-Dhadoop.log.dir=%s/log", dir));
    add(&l, nm_strdup_printf("-Dyarn.log.dir=%s/log", dir));
    add_options(&l, s->aux.options);
    add(&l, strdup("-cp"));
    add(&l, strdup(classes));
    add(&l, strdup("nmd.auxhost.Main"));
    add(&l, strdup(dir));
    add(&l, nm_strdup_printf("%u", nm_yarn_aux_dirs_count(s)));
    for (size_t i = 0; s->aux.names[i]; i++)
        add(&l, strdup(s->aux.names[i]));
    return l.failed ? -ENOMEM : 0;
}

static int make_env(const struct nm_yarn_settings *s, const char *dir, char ***ret)
{
    static const char *const passed[] = {"JAVA_HOME", "HADOOP_HOME", "HADOOP_COMMON_HOME", "HADOOP_HDFS_HOME",
                                         "HADOOP_MAPRED_HOME", "HADOOP_YARN_HOME", "LD_LIBRARY_PATH"};
    struct list l = {.room = ENV_MAX};

    l.items = calloc(l.room, sizeof *l.items);
    *ret = l.items;
    if (!l.items)
        return -ENOMEM;
    add(&l, strdup("PATH=" SYSTEM_PATH));
    add(&l, strdup("LC_ALL=C.UTF-8"));
    add(&l, nm_strdup_printf("HOME=%s", dir));
    add(&l, nm_strdup_printf("HADOOP_USER_NAME=%s", s->aux.user));
    if (s->dir)
        add(&l, nm_strdup_printf("HADOOP_CONF_DIR=%s", s->dir));
    for (size_t i = 0; i < NM_ARRAY_SIZE(passed); i++)
        if (getenv(passed[i]))
            add(&l, nm_strdup_printf("%s=%s", passed[i], getenv(passed[i])));
    return l.failed ? -ENOMEM : 0;
}

static void free_list(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

void nm_yarn_aux_command_done(struct nm_yarn_aux_command *c)
{
    free(c->java);
    free_list(c->argv);
    free_list(c->env);
    *c = (struct nm_yarn_aux_command){};
}

int nm_yarn_aux_command_make(const struct nm_yarn_settings *s, const char *dir, struct nm_yarn_aux_command *ret,
                             char **ret_message)
{
    _cleanup_free_ char *classes = NULL;
    struct nm_yarn_aux_command c = {};
    int r = find_java(s, &c.java, ret_message);

    if (r >= 0)
        r = find_classes(s, &classes, ret_message);
    if (r >= 0)
        r = make_argv(s, dir, classes, &c.argv);
    if (r >= 0)
        r = make_env(s, dir, &c.env);
    if (r >= 0)
        *ret = c;
    else
        nm_yarn_aux_command_done(&c);
    return r;
}
