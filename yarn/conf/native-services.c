/* SPDX-License-Identifier: Apache-2.0 */

/* See native-services.h. */

#include "yarn/conf/native-services.h"

#include "util/error.h"
#include "util/macros.h"

#define SEPARATORS ", \t\r\n"
#define CLASS_SUFFIX ".class"
#define SHUFFLE_CLASS "org.apache.hadoop.mapred.ShuffleHandler"
#define SPARK_CLASS "org.apache.spark.network.yarn.YarnShuffleService"
#define WHY_SIZE 800
#define NAME_MAX_CHARACTERS 64u

enum kind { OTHER, MAPREDUCE, SPARK };

struct service {
    char *name, *class_name; /* class_name: "" if the service has none */
    char *property;          /* the name of the property of the class */
};

static void service_done(struct service *s)
{
    free(s->name);
    free(s->class_name);
    free(s->property);
}

/* ---- the list ----------------------------------------------------------------------------- */

static const char *default_class(const char *name)
{
    if (nm_streq(name, NM_YARN_SHUFFLE))
        return SHUFFLE_CLASS;
    return nm_streq(name, NM_YARN_SPARK) ? SPARK_CLASS : "";
}

/* Reads the class of a service. A value that can't be expanded is returned as it is, because it is no known class. */
static int read_class(const struct nm_yarn_conf *c, struct service *s)
{
    int r = nm_yarn_conf_expand(c, s->property, &s->class_name);

    if (r == -ENOMEM)
        return r;
    if (r == 0 && *s->class_name)
        return 0;
    free(s->class_name);
    s->class_name = strdup(r == 0 || r == -ENOENT ? default_class(s->name)
                                                  : nm_yarn_conf_find(c, s->property)->value);
    return s->class_name ? 0 : -ENOMEM;
}

/* Takes the next service from a list of names. Returns 1, 0 at the end of the list, or -ENOMEM. */
static int take_service(const struct nm_yarn_conf *c, const char **at, struct service *ret)
{
    _cleanup_(service_done) struct service s = {};
    size_t n;
    int r;

    *at += strspn(*at, SEPARATORS);
    n = strcspn(*at, SEPARATORS);
    if (n == 0)
        return 0;
    s.name = strndup(*at, n);
    s.property = nm_strdup_printf(NM_YARN_AUX_SERVICES ".%.*s" CLASS_SUFFIX, (int)n, *at);
    if (!s.name || !s.property)
        return -ENOMEM;
    if ((r = read_class(c, &s)) < 0)
        return r;
    *at += n;
    *ret = s;
    s = (struct service){};
    return 1;
}

static enum kind kind_of(const struct service *s)
{
    const bool is_mapreduce = nm_streq(s->name, NM_YARN_SHUFFLE);

    if (is_mapreduce)
        return nm_streq(s->class_name, SHUFFLE_CLASS) ? MAPREDUCE : OTHER;
    return nm_streq(s->class_name, SPARK_CLASS) ? SPARK : OTHER;
}

/* Returns the list of names, or NULL if it can't be read: the table's property has then been refused. */
static int read_list(const struct nm_yarn_conf *c, char **ret)
{
    int r = nm_yarn_conf_expand(c, NM_YARN_AUX_SERVICES, ret);

    return r == -ENOMEM ? r : 0;
}

/* ---- services that nmd can't run ----------------------------------------------------------- */

/* Hadoop's pattern for names. The name of a service in Java is also the name of a directory. */
static bool has_valid_name(const struct service *s)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    return !strchr("0123456789", *s->name) && s->name[strspn(s->name, letters)] == '\0' &&
           strlen(s->name) <= NAME_MAX_CHARACTERS;
}

/* Returns why nmd can't run a service, which is in its class, or NULL. */
static const char *why_class(const struct service *s)
{
    if (kind_of(s) == OTHER && nm_streq(s->class_name, SPARK_CLASS))
        return "jobs of MapReduce send their keys to " NM_YARN_SHUFFLE ", which can't be the service of Spark; list "
               "Spark's service under another name, such as " NM_YARN_SPARK;
    if (strstr(s->class_name, "${"))
        return "refers to a property that no file sets, or whose value can't be used, so the class isn't known";
    return NULL; /* it runs in Java */
}

/* Writes why nmd can't run a service, which is in its name. spark: the name of Spark's service that comes first in the
 * list. Returns false if nothing is wrong with the name. */
static bool why_name(const struct service *s, const char *spark, char *buf, size_t size)
{
    char shown[120], other[120];

    nm_yarn_conf_printable(s->name, shown, sizeof shown);
    *buf = '\0';
    if (!has_valid_name(s))
        (void)snprintf(buf, size, "'%s' is not a valid name of a service: it may have letters, digits and _, must not "
                       "begin with a digit, and has at most %u characters", shown, NAME_MAX_CHARACTERS);
    else if (kind_of(s) == SPARK && spark && !nm_streq(spark, s->name))
        (void)snprintf(buf, size, "'%s' and '%s' are both Spark's service, and a node has only one; nm-spark-shuffle "
                       "serves Spark 3.3 to 4.x, so remove one, and set spark.shuffle.service.name and "
                       "spark.shuffle.service.port of all applications to the other",
                       nm_yarn_conf_printable(spark, other, sizeof other), shown);
    else if (!*s->class_name)
        (void)snprintf(buf, size, "the service '%s' has no class; set " NM_YARN_AUX_SERVICES ".%s" CLASS_SUFFIX
                       ", or remove the service", shown, shown);
    return *buf;
}

static int check_one(const struct nm_yarn_conf *c, const struct service *s, const char *list, const char *spark,
                     nm_yarn_violation_t found_cb, void *userdata)
{
    const struct nm_yarn_property *of_class = nm_yarn_conf_find(c, s->property);
    char buf[WHY_SIZE];
    const bool is_name = why_name(s, spark, buf, sizeof buf);
    const char *why = is_name ? buf : why_class(s);
    struct nm_yarn_violation v = {.name = NM_YARN_AUX_SERVICES, .value = list, .allowed = "", .why = why,
                                  .fatal = true, .file = nm_yarn_conf_find(c, NM_YARN_AUX_SERVICES)->file};

    if (!why)
        return 0;
    if (!is_name && of_class) {
        v.name = s->property;
        v.value = s->class_name;
        v.file = of_class->file;
    }
    return found_cb(&v, userdata);
}

int nm_yarn_native_services_find(const struct nm_yarn_conf *c, nm_yarn_violation_t found_cb, void *userdata)
{
    _cleanup_free_ char *list = NULL, *spark = NULL;
    const char *at;
    int r = read_list(c, &list);

    if (r == 0)
        r = nm_yarn_native_services_find_spark(c, &spark);
    for (at = list; r >= 0 && at;) {
        _cleanup_(service_done) struct service s = {};

        r = take_service(c, &at, &s);
        if (r == 0)
            break;
        if (r > 0)
            r = check_one(c, &s, list, spark, found_cb, userdata);
    }
    return NM_MIN(r, 0);
}

/* ---- nmd's own services --------------------------------------------------------------------- */

int nm_yarn_native_services_read(const struct nm_yarn_conf *c, struct nm_yarn_settings *s)
{
    _cleanup_free_ char *list = NULL;
    int r = read_list(c, &list);

    for (const char *at = list; r == 0 && at;) {
        _cleanup_(service_done) struct service one = {};

        r = take_service(c, &at, &one);
        if (r <= 0)
            break;
        r = 0;
        s->has_shuffle |= kind_of(&one) == MAPREDUCE;
        if (kind_of(&one) == SPARK && !s->spark.name)
            s->spark.name = STEAL_PTR(one.name);
    }
    return r;
}

int nm_yarn_native_services_find_spark(const struct nm_yarn_conf *c, char **ret_name)
{
    struct nm_yarn_settings s = {};
    int r = nm_yarn_native_services_read(c, &s);

    *ret_name = s.spark.name;
    return r;
}
