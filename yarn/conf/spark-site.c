/* SPDX-License-Identifier: Apache-2.0 */

/* See spark-site.h. */

#include "yarn/conf/spark-site.h"

#include <fcntl.h>

#include "util/macros.h"
#include "yarn/conf/conf-set.h"
#include "yarn/conf/native-services.h"

#define FILE_NAME "spark-shuffle-site.xml"
#define SPARK "spark."
#define NAMES_SIZE 2000

/* Properties of Spark's service without effect. A name that ends with '.' stands for all names with this prefix. */
static const struct idle {
    const char *why;
    const char *const *names;
} idle[] = {
    {"nm-spark-shuffle has its own threads and buffers, and its own limits of connections and memory",
     (const char *const[]){SPARK "shuffle.io.", SPARK "shuffle.sasl.timeout", SPARK "shuffle.server.",
                           SPARK "port.maxRetries", SPARK "network.sasl.maxEncryptedBlockSize",
                           SPARK "network.remoteReadNioBufferConversion",
                           SPARK "network.sharedByteBufAllocators.enabled", SPARK "storage.memoryMapThreshold",
                           SPARK "network.io.preferDirectBufs", NULL}},
    {"nm-spark-shuffle keeps at most 16 MiB of indexes in its memory",
     (const char *const[]){SPARK "shuffle.service.index.cache.", NULL}},
    {"nm-spark-shuffle always stores registered executors, in files of its own",
     (const char *const[]){SPARK "shuffle.service.db.", NULL}},
    {"messages about nm-spark-shuffle are in the log of nmd",
     (const char *const[]){SPARK "yarn.shuffle.service.logs.namespace", NULL}},
    {"nm-spark-shuffle doesn't merge blocks", (const char *const[]){SPARK "shuffle.push.server.", NULL}},
};

/* A list of names for a message, which ends with "..." if it is too long. */
struct names {
    char text[NAMES_SIZE];
    size_t size;
};

static void add_name(struct names *n, const char *name)
{
    char shown[300];
    int added;

    if (n->size >= sizeof n->text)
        return;
    added = snprintf(n->text + n->size, sizeof n->text - n->size, "%s%s", n->size > 0 ? ", " : "",
                     nm_yarn_conf_printable(name, shown, sizeof shown));
    n->size += (size_t)added;
    if (n->size >= sizeof n->text)
        memcpy(n->text + sizeof n->text - 4, "...", 4);
}

static bool is_idle(const struct idle *i, const char *name)
{
    for (const char *const *p = i->names; *p; p++) {
        const size_t n = strlen(*p);

        if (strncmp(name, *p, n) == 0 && (!name[n] || (*p)[n - 1] == '.'))
            return true;
    }
    return false;
}

/* A property with a rule or a meaning has it although a prefix in the table matches. */
const char *nm_yarn_spark_site_why_idle(const char *name)
{
    if (nm_yarn_rules_support(name) != NM_YARN_PROPERTY_UNKNOWN)
        return NULL;
    for (size_t i = 0; i < NM_ARRAY_SIZE(idle); i++)
        if (is_idle(&idle[i], name))
            return idle[i].why;
    return NULL;
}

/* ---- the file ----------------------------------------------------------------------------- */

/* Reads the file of a directory. Returns 1 if it doesn't exist. The directory may be any element of a class path, such
 * as the name of a jar. */
static int read_file(struct nm_yarn_conf *overlay, const char *dir, char **ret_message)
{
    _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char shown[200];

    if (fd >= 0)
        return nm_yarn_conf_read_file(overlay, fd, dir, FILE_NAME, ret_message);
    if (errno == ENOENT || errno == ENOTDIR)
        return 1;
    return nm_fail(ret_message, -errno, "%s: can't open: %s", nm_yarn_conf_printable(dir, shown, sizeof shown),
                   strerror(errno));
}

/* Reads the first file in a class path. Returns 1 if there is none. */
static int read_first(struct nm_yarn_conf *overlay, const char *class_path, char **ret_message)
{
    int r = 1;

    for (const char *p = class_path; r == 1 && *p; p += strcspn(p, ":"), p += *p == ':') {
        const size_t n = strcspn(p, ":");
        _cleanup_free_ char *dir = strndup(p, n);

        if (!dir)
            return -ENOMEM;
        if (*dir == '/')
            r = read_file(overlay, dir, ret_message);
    }
    return r;
}

static int find_file(const struct nm_yarn_conf *c, const char *service, const char *dir, struct nm_yarn_conf *overlay,
                     char **ret_message)
{
    _cleanup_free_ char *name = nm_strdup_printf(NM_YARN_AUX_SERVICES ".%s.classpath", service), *class_path = NULL;
    int r;

    if (!name)
        return -ENOMEM;
    r = nm_yarn_conf_expand(c, name, &class_path);
    if (r < 0 && r != -ENOENT)
        return nm_fail(ret_message, r, "%s: %s", name, strerror(-r));
    r = r == 0 ? read_first(overlay, class_path, ret_message) : 1;
    return r == 1 ? read_file(overlay, dir, ret_message) : r;
}

/* Adds the file's properties of Spark, and collects the names of those that nm-spark-shuffle doesn't read. */
static int add_properties(struct nm_yarn_conf *c, const struct nm_yarn_conf *overlay, const char **ret_file,
                          struct names *unused)
{
    const char *file = NULL;
    int r = 0;

    for (size_t i = 0; r == 0 && i < nm_yarn_conf_count(overlay); i++) {
        const struct nm_yarn_property *p = nm_yarn_conf_at(overlay, i);
        const bool is_known = nm_yarn_rules_support(p->name) != NM_YARN_PROPERTY_UNKNOWN ||
                              nm_yarn_spark_site_why_idle(p->name);

        if (!file && !(file = nm_yarn_conf_intern_file(c, p->file)))
            return -ENOMEM;
        if (strncmp(p->name, SPARK, strlen(SPARK)) == 0 && is_known)
            r = nm_yarn_conf_put(c, file, p->name, p->value, p->final);
        else
            add_name(unused, p->name);
    }
    *ret_file = file;
    return r;
}

static int say(nm_yarn_warn_t warn, void *userdata, char *sentence)
{
    if (!sentence)
        return -ENOMEM;
    warn(sentence, userdata);
    free(sentence);
    return 0;
}

/* Returns -ENOMEM, or an error with *ret_message. */
static int read_site(struct nm_yarn_conf *c, const char *service, const char *dir, nm_yarn_warn_t warn, void *userdata,
                     char **ret_message)
{
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *overlay = NULL;
    struct names unused = {};
    const char *file = NULL;
    char shown[200];
    int r = nm_yarn_conf_new(&overlay);

    if (r == 0)
        r = find_file(c, service, dir, overlay, ret_message);
    if (r != 0)
        return NM_MIN(r, 0);
    r = add_properties(c, overlay, &file, &unused);
    if (r < 0)
        return nm_fail(ret_message, r, FILE_NAME ": %s", strerror(-r));
    if (unused.size == 0 || !warn)
        return 0;
    return say(warn, userdata, nm_strdup_printf("%s: not used, because nm-spark-shuffle doesn't read these properties "
                                                "from this file: %s",
                                                nm_yarn_conf_printable(file, shown, sizeof shown), unused.text));
}

int nm_yarn_spark_site_read(struct nm_yarn_conf *c, const char *dir, nm_yarn_warn_t warn, void *userdata,
                            struct nm_refusals *refusals)
{
    _cleanup_free_ char *service = NULL;
    char *message = NULL;
    int r = nm_yarn_native_services_find_spark(c, &service);

    if (r < 0 || !service)
        return r;
    r = read_site(c, service, dir, warn, userdata, &message);
    return nm_refusals_add(refusals, r, message);
}

/* ---- properties without effect -------------------------------------------------------------- */

static int warn_of(const struct nm_yarn_conf *c, const struct idle *idle_ones, nm_yarn_warn_t warn, void *userdata)
{
    struct names names = {};
    char name[300], file[150];

    for (size_t i = 0; i < nm_yarn_conf_count(c); i++) {
        const struct nm_yarn_property *p = nm_yarn_conf_at(c, i);

        if (!p->file || nm_yarn_spark_site_why_idle(p->name) != idle_ones->why)
            continue;
        (void)snprintf(name, sizeof name, "%.100s (%s)", p->name,
                       nm_yarn_conf_printable(p->file, file, sizeof file));
        add_name(&names, name);
    }
    if (names.size == 0)
        return 0;
    return say(warn, userdata, nm_strdup_printf("no effect, because %s: %s", idle_ones->why, names.text));
}

/* The archive of a service's class path in HDFS may contain the file as well. */
static int warn_of_remote(const struct nm_yarn_conf *c, const char *service, nm_yarn_warn_t warn, void *userdata)
{
    _cleanup_free_ char *name = nm_strdup_printf(NM_YARN_AUX_SERVICES ".%s.remote-classpath", service);
    const struct nm_yarn_property *p = name ? nm_yarn_conf_find(c, name) : NULL;
    char shown[120], file[150];

    if (!name)
        return -ENOMEM;
    if (!p || !p->file)
        return 0;
    return say(warn, userdata,
               nm_strdup_printf("%s: %s: no effect, because nm-spark-shuffle is a part of nmd; if the archive contains "
                                FILE_NAME ", copy it to the directory of the cluster's files",
                                nm_yarn_conf_printable(p->file, file, sizeof file),
                                nm_yarn_conf_printable(name, shown, sizeof shown)));
}

int nm_yarn_spark_site_warn(const struct nm_yarn_conf *c, nm_yarn_warn_t warn, void *userdata)
{
    _cleanup_free_ char *service = NULL;
    int r = nm_yarn_native_services_find_spark(c, &service);

    if (r < 0 || !service || !warn)
        return r;
    for (size_t i = 0; r == 0 && i < NM_ARRAY_SIZE(idle); i++)
        r = warn_of(c, &idle[i], warn, userdata);
    return r == 0 ? warn_of_remote(c, service, warn, userdata) : r;
}
