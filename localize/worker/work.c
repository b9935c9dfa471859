/* SPDX-License-Identifier: Apache-2.0 */

/* See work.h. */

#include "localize/worker/work.h"

#include <limits.h>

#include "localize/worker-protocol.h"
#include "util/error.h"
#include "util/macros.h"

/* Default limits. No job waits longer than a day for one resource. Larger resources need a configured limit. */
static const struct nm_work_limits default_limits = {
    .fetch_bytes = 64 * 1024 * NM_MIB,
    .unpacked_bytes = 128 * 1024 * NM_MIB,
    .entries = 1000000,
    .ratio = 200,
    .time_usec = NM_WORK_TIME_USEC,
    .idle_usec = 60 * NM_USEC_PER_SEC,
};

/* Checks for a list of strings that isn't empty: a command needs a word, and a name service needs a name node. */
static bool is_strings(json_t *list)
{
    json_t *word;
    size_t i;

    if (!json_is_array(list) || json_array_size(list) == 0)
        return false;
    json_array_foreach(list, i, word)
        if (!json_is_string(word) || json_string_length(word) == 0)
            return false;
    return true;
}

/* Checks "name_nodes" or "commands", which have the same structure. Their strings are interpreted only by the code that
 * uses them. */
static int check_lists(json_t *lists, const char *what, char **ret_message)
{
    const char *key;
    json_t *list;

    if (!lists)
        return 0;
    if (!json_is_object(lists))
        return nm_fail(ret_message, -EBADMSG, "\"%s\" is not an object", what);
    json_object_foreach(lists, key, list)
        if (!is_strings(list))
            return nm_fail(ret_message, -EBADMSG, "\"%s\" has no list of strings for %s", what, key);
    return 0;
}

/* Checks names for setenv(): a name with '=' would set another variable. */
static int check_environment(json_t *environment, char **ret_message)
{
    const char *name;
    json_t *value;

    if (!environment)
        return 0;
    if (!json_is_object(environment))
        return nm_fail(ret_message, -EBADMSG, "\"environment\" is not an object");
    json_object_foreach(environment, name, value)
        if (!*name || strchr(name, '=') || !json_is_string(value))
            return nm_fail(ret_message, -EBADMSG, "\"environment\" has no string for the variable '%s'", name);
    return 0;
}

/* Reads a limit. If the number is missing, *value keeps the default. */
static int get_limit(json_t *limits, const char *key, uint64_t unit, uint64_t *value, char **ret_message)
{
    json_t *number = json_object_get(limits, key);
    json_int_t n = json_integer_value(number);

    if (!number)
        return 0;
    if (!json_is_integer(number) || n < 1 || (uint64_t)n > INT64_MAX / unit)
        return nm_fail(ret_message, -EBADMSG, "the limit \"%s\" must be a whole number above 0", key);
    *value = (uint64_t)n * unit;
    return 0;
}

/* Reads the limits. 100 attempts with their pauses take half an hour. For more attempts the time limit ends the
 * fetch. */
static int get_limits(json_t *limits, struct nm_work_limits *ret, char **ret_message)
{
    struct nm_work_limits l = default_limits;
    uint64_t attempts = l.attempts;
    const struct {
        const char *key;
        uint64_t unit, *value;
    } keys[] = {
        {"fetch_bytes", 1, &l.fetch_bytes},
        {"unpacked_bytes", 1, &l.unpacked_bytes},
        {"entries", 1, &l.entries},
        {"ratio", 1, &l.ratio},
        {"seconds", NM_USEC_PER_SEC, &l.time_usec},
        {"command_memory_bytes", 1, &l.command_memory_bytes},
        {"idle_seconds", NM_USEC_PER_SEC, &l.idle_usec},
        {"attempts", 1, &attempts},
    };

    if (limits && !json_is_object(limits))
        return nm_fail(ret_message, -EBADMSG, "\"limits\" is not an object");
    for (size_t i = 0; i < NM_ARRAY_SIZE(keys); i++) {
        int r = get_limit(limits, keys[i].key, keys[i].unit, keys[i].value, ret_message);
        if (r < 0)
            return r;
    }
    l.attempts = (unsigned)NM_MIN(attempts, UINT64_C(100));
    *ret = l;
    return 0;
}

/* Reads the type, spelled as in YARN's protocol. */
static int get_type(const char *word, enum nm_work_resource_type *ret)
{
    static const char *const names[] = {
        [NM_WORK_RESOURCE_FILE] = "FILE", [NM_WORK_RESOURCE_ARCHIVE] = "ARCHIVE",
        [NM_WORK_RESOURCE_PATTERN] = "PATTERN"};

    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++)
        if (nm_streq(word, names[i])) {
            *ret = (enum nm_work_resource_type)i;
            return 0;
        }
    return -EBADMSG;
}

/* Checks that the path is absolute and has a last part. Targets are created with the user's own rights, so this isn't a
 * security check. It finds errors of nmd before files are created. */
static bool is_target(const char *path)
{
    const char *base = strrchr(path, '/');

    return *path == '/' && base[1] && !nm_streq(base, "/.") && !nm_streq(base, "/..") && strlen(path) < PATH_MAX;
}

/* Checks all targets before the first target is removed, so that invalid work isn't executed partly. */
static int check_targets(json_t *list, const char *what, char **ret_message)
{
    json_t *path;
    size_t i;

    if (!list)
        return 0;
    if (!json_is_array(list))
        return nm_fail(ret_message, -EBADMSG, "\"%s\" is not a list", what);
    json_array_foreach(list, i, path)
        if (!json_is_string(path) || !is_target(json_string_value(path)))
            return nm_fail(ret_message, -EBADMSG, "an item of \"%s\" is not an absolute path of a directory", what);
    return 0;
}

/* Reads a resource strictly. nmd and its worker have the same version, so an unknown member is an error, which must be
 * reported before the first fetch. */
static int get_resource(json_t *json, struct nm_work_resource *ret, char **ret_message)
{
    struct nm_work_resource res = {0};
    json_int_t timestamp;
    const char *type;
    json_error_t error;
    int is_public = 0;

    if (json_unpack_ex(json, &error, JSON_STRICT, "{s:s, s:s, s?:s, s:I, s?:b, s:s}", "uri", &res.uri, "type", &type,
                       "pattern", &res.pattern, "timestamp", &timestamp, "public", &is_public, "target",
                       &res.target) < 0)
        return nm_fail(ret_message, -EBADMSG, "a resource is invalid: %s", error.text);
    if (get_type(type, &res.type) < 0)
        return nm_fail(ret_message, -EBADMSG, "%s: the type is %s, but must be FILE, ARCHIVE or PATTERN", res.uri,
                       type);
    if (timestamp < 0)
        return nm_fail(ret_message, -EBADMSG, "%s: the timestamp is negative", res.uri);
    if (res.pattern && res.type != NM_WORK_RESOURCE_PATTERN)
        return nm_fail(ret_message, -EBADMSG, "%s: only the type PATTERN permits a pattern", res.uri);
    if (!is_target(res.target))
        return nm_fail(ret_message, -EBADMSG, "%s: the target is not an absolute path of a directory: %s", res.uri,
                       res.target);
    res.timestamp_msec = (uint64_t)timestamp;
    res.is_public = is_public;
    *ret = res;
    return 0;
}

/* Reads the list of resources. The number of resources is limited in addition to the length of the text, because each
 * resource needs more memory than its few bytes of text. */
static int get_resources(json_t *list, struct nm_work *work, char **ret_message)
{
    json_t *one;
    size_t i;

    if (!json_is_array(list) || json_array_size(list) > NM_WORK_MAX_RESOURCES)
        return nm_fail(ret_message, -EBADMSG, "\"resources\" must be a list of at most %u items",
                       NM_WORK_MAX_RESOURCES);
    work->resources = calloc(json_array_size(list) + 1, sizeof *work->resources);
    if (!work->resources)
        return -ENOMEM;
    json_array_foreach(list, i, one) {
        int r = get_resource(one, &work->resources[i], ret_message);
        if (r < 0)
            return r;
        work->n_resources++;
    }
    return 0;
}

/* Parses the work. The JSON value owns the strings and is freed with the work, so thousands of resources need no second
 * copy. */
int nm_work_parse(const char *text, size_t size, struct nm_work *ret, char **ret_message)
{
    _cleanup_(nm_work_done) struct nm_work work = {0};
    json_t *limits = NULL, *resources;
    json_error_t error;
    int https = 0, r;

    if (size > NM_WORK_MAX_BYTES)
        return nm_fail(ret_message, -EBADMSG, "the input of nm-localizer is larger than %u MiB",
                       NM_WORK_MAX_BYTES >> 20);
    work.json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (!work.json)
        return nm_fail(ret_message, -EBADMSG, "the input of nm-localizer is not valid JSON: %s (line %d)", error.text,
                       error.line);
    if (json_unpack_ex(work.json, &error, JSON_STRICT,
                       "{s?:s, s?:o, s?:{s?b, s?s !}, s?:o, s?:o, s?:o, s?:o, s?:o, s:o}",
                       "user", &work.user, "name_nodes", &work.name_nodes, "webhdfs", "https", &https, "ca_file",
                       &work.ca_file, "commands", &work.commands, "environment",
                       &work.environment, "limits", &limits, "removals",
                       &work.removals, "checks", &work.checks, "resources", &resources) < 0)
        return nm_fail(ret_message, -EBADMSG, "the input of nm-localizer is invalid: %s", error.text);
    work.https = https;
    r = check_lists(work.name_nodes, "name_nodes", ret_message);
    if (r >= 0)
        r = check_lists(work.commands, "commands", ret_message);
    if (r >= 0)
        r = check_environment(work.environment, ret_message);
    if (r >= 0)
        r = check_targets(work.removals, "removals", ret_message);
    if (r >= 0)
        r = check_targets(work.checks, "checks", ret_message);
    if (r >= 0)
        r = get_limits(limits, &work.limits, ret_message);
    if (r >= 0)
        r = get_resources(resources, &work, ret_message);
    if (r < 0)
        return r;
    *ret = work;
    work = (struct nm_work){0};
    return 0;
}

void nm_work_done(struct nm_work *work)
{
    json_decref(work->json);
    free(work->resources);
    *work = (struct nm_work){0};
}
