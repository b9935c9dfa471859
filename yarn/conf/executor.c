/* SPDX-License-Identifier: Apache-2.0 */

/* See executor.h. */

#include "yarn/conf/executor.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "util/fileio.h"
#include "util/parse.h"
#include "yarn/conf/conf.h"

#define FILE_MAX (64u << 10)
#define NAME_SIZE 160
#define BLANKS " \t\r\n"
#define MAJOR_MAX 511 /* of character devices (Linux 4.17 and later) */

enum { MIN_UID, BANNED, ALLOWED, GPU_MAJOR, GPU_MINORS };

/* The names and their defaults, as in Hadoop 3. */
const struct nm_yarn_executor_name nm_yarn_executor_names[NM_YARN_N_EXECUTOR_NAMES] = {
    [MIN_UID] = {"", "min.user.id", "1000", "0 to 4294967294",
                 "Minimum uid of accounts that may run containers. allowed.system.users lists exceptions."},
    [BANNED] = {"", "banned.users", "yarn,mapred,hdfs,bin", "names separated by commas",
                "Accounts that may not run containers."},
    [ALLOWED] = {"", "allowed.system.users", "", "names separated by commas",
                 "Accounts that may run containers although their uid is below min.user.id, unless banned.users lists "
                 "them."},
    [GPU_MAJOR] = {"gpu", "gpu.major-device-number", "195", "1 to 511", "Major number of the devices of GPUs."},
    [GPU_MINORS] = {"gpu", "gpu.allowed-device-minor-numbers", "", "numbers from 0 to 63, separated by commas",
                    "Minor numbers of the GPUs that may be offered. Empty: all."},
};

/* ---- names without an effect -------------------------------------------------------------- */

#define NO_RUNTIME "containers that request a runtime other than the default fail on this node"

/* name NULL: the entry applies to all names of the section. why NULL: nmd doesn't warn, because it doesn't need the
 * setting. */
static const struct other {
    const char *section, *name;
    bool stops;
    const char *why;
} others[] = {
    /* nmd runs as root, and has no setuid program whose use must be restricted to a group */
    {"", "yarn.nodemanager.linux-container-executor.group", false, NULL},
    {"", "yarn.nodemanager.local-dirs", false, NULL},
    {"", "yarn.nodemanager.log-dirs", false, NULL},
    {"", "feature.terminal.enabled", false, NULL},
    {"", "feature.mount-cgroup.enabled", false, NULL},
    {"", "feature.tc.enabled", false, "the network traffic of containers isn't limited on this node"},
    {"", "feature.docker.enabled", false, NO_RUNTIME},
    {"", "feature.runc.enabled", false, NO_RUNTIME},
    {"", "feature.yarn.sysfs.enabled", false, "containers don't get the file about their YARN service"},
    {"docker", "module.enabled", false, NO_RUNTIME},
    {"docker", NULL, false, NULL},
    {"runc", "module.enabled", false, NO_RUNTIME},
    {"runc", NULL, false, NULL},
    {"cgroups", NULL, false, NULL},
    {"gpu", "module.enabled", false, NULL},
    {"fpga", "module.enabled", true, "nmd doesn't prevent containers from using FPGAs of other containers"},
    {"fpga", NULL, false, NULL},
    {"devices", "module.enabled", true, "nmd doesn't prevent containers from using devices of other containers"},
    {"devices", NULL, false, NULL},
};

static const struct other *find_other(const char *section, const char *name)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(others); i++)
        if (nm_streq(others[i].section, section) && (!others[i].name || nm_streq(others[i].name, name)))
            return &others[i];
    return NULL;
}

static bool is_on(const char *value)
{
    return nm_streq(value, "1") || strcasecmp(value, "true") == 0;
}

/* ---- lines -------------------------------------------------------------------------------- */

struct reader {
    const char *file;
    char section[NAME_SIZE];
    unsigned line;
    nm_yarn_warn_t warn;
    void *userdata;
    struct nm_yarn_executor *e;
    struct nm_refusals *refusals;
};

/* Writes a name for messages, with the name of its section. The section is needed because several sections have a name
 * module.enabled. */
static const char *show_name(const struct reader *r, const char *name, char *buf, size_t size)
{
    char shown[80], section[80];

    (void)nm_yarn_conf_printable(name, shown, sizeof shown);
    if (*r->section)
        (void)snprintf(buf, size, "[%s] %s", nm_yarn_conf_printable(r->section, section, sizeof section), shown);
    else
        (void)snprintf(buf, size, "%s", shown);
    return buf;
}

static int refuse(struct reader *r, const char *name, const char *value, const char *why)
{
    char shown[80], shown_name[170], *message = NULL;

    (void)nm_fail(&message, -EINVAL, "%s, line %u: %s = '%s': %s", r->file, r->line,
                  show_name(r, name, shown_name, sizeof shown_name),
                  nm_yarn_conf_printable(value, shown, sizeof shown), why);
    return message ? nm_refusals_add(r->refusals, -EINVAL, message) : -ENOMEM;
}

static int warn_of(struct reader *r, const char *name, const char *why)
{
    _cleanup_free_ char *sentence = NULL;
    char shown[170];

    if (!r->warn)
        return 0;
    (void)show_name(r, name, shown, sizeof shown);
    if (asprintf(&sentence, "%s, line %u: %s: %s", r->file, r->line, shown, why) < 0) {
        sentence = NULL;
        return -ENOMEM;
    }
    r->warn(sentence, r->userdata);
    return 0;
}

static bool read_minors(const char *text, uint64_t *ret)
{
    uint64_t minor, mask = 0;

    for (;; text++) {
        text += strspn(text, BLANKS);
        if (nm_parse_digits(&text, &minor) < 0 || minor >= NM_YARN_GPUS_MAX)
            return false;
        mask |= UINT64_C(1) << minor;
        text += strspn(text, BLANKS);
        if (*text != ',')
            break;
    }
    *ret = mask;
    return *text == '\0';
}

/* Stores a value. As in Hadoop's setuid program, an empty value means the default. */
static int set_value(struct reader *r, size_t which, const char *value)
{
    const char *name = nm_yarn_executor_names[which].name;
    uint64_t number;

    if (!*value)
        return 0;
    if (r->e->texts[which])
        return refuse(r, name, value, "set more than once");
    if (which == MIN_UID) {
        if (nm_parse_u64(value, &number) < 0 || number >= (uid_t)-1)
            return refuse(r, name, value, "must be a uid, 0 to 4294967294");
        r->e->min_uid = (uid_t)number;
    }
    if (which == GPU_MAJOR) {
        if (nm_parse_u64(value, &number) < 0 || number == 0 || number > MAJOR_MAX)
            return refuse(r, name, value, "must be a major number, 1 to 511");
        r->e->gpu_major = (uint32_t)number;
    }
    if (which == GPU_MINORS && !read_minors(value, &r->e->gpu_minors))
        return refuse(r, name, value, "must be minor numbers from 0 to 63, separated by commas");
    r->e->texts[which] = strdup(value);
    return r->e->texts[which] ? 0 : -ENOMEM;
}

static int pass_over(struct reader *r, const char *name, const char *value)
{
    const struct other *o = find_other(r->section, name);

    if (!o)
        return warn_of(r, name, "this name is unknown to Hadoop 3 in this section and has no effect");
    if (!o->why || !is_on(value))
        return 0;
    return o->stops ? refuse(r, name, value, o->why) : warn_of(r, name, o->why);
}

static int read_entry(struct reader *r, const char *name, const char *value)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(nm_yarn_executor_names); i++)
        if (nm_streq(r->section, nm_yarn_executor_names[i].section) && nm_streq(name, nm_yarn_executor_names[i].name))
            return set_value(r, i, value);
    return pass_over(r, name, value);
}

/* Removes blanks at both ends, in place. */
static char *trim(char *text)
{
    size_t n;

    text += strspn(text, BLANKS);
    n = strlen(text);
    while (n > 0 && strchr(BLANKS, text[n - 1]))
        n--;
    text[n] = '\0';
    return text;
}

static int read_line(struct reader *r, char *line)
{
    char *equals;

    line[strcspn(line, "#")] = '\0';
    line = trim(line);
    if (*line == '[' && line[strlen(line) - 1] == ']') {
        line[strlen(line) - 1] = '\0';
        (void)snprintf(r->section, sizeof r->section, "%s", trim(line + 1));
        return 0;
    }
    if (!*line)
        return 0;
    equals = strchr(line, '=');
    if (!equals)
        return refuse(r, line, "", "must be [SECTION] or NAME=VALUE");
    *equals = '\0';
    return read_entry(r, trim(line), trim(equals + 1));
}

int nm_yarn_executor_parse(const char *file, const char *text, nm_yarn_warn_t warn, void *userdata,
                           struct nm_yarn_executor *ret, struct nm_refusals *refusals)
{
    _cleanup_(nm_yarn_executor_done) struct nm_yarn_executor e = {.file = strdup(file), .min_uid = 1000};
    struct reader reader = {.file = file, .warn = warn, .userdata = userdata, .e = &e, .refusals = refusals};
    _cleanup_free_ char *copy = strdup(text);
    int r = e.file && copy ? 0 : -ENOMEM;

    for (char *at = copy, *line; r == 0 && (line = strsep(&at, "\n"));) {
        reader.line++;
        r = read_line(&reader, line);
    }
    if (r < 0)
        return r;
    *ret = e;
    e = (struct nm_yarn_executor){};
    return 0;
}

void nm_yarn_executor_done(struct nm_yarn_executor *e)
{
    free(e->file);
    for (size_t i = 0; i < NM_ARRAY_SIZE(e->texts); i++)
        free(e->texts[i]);
    *e = (struct nm_yarn_executor){};
}

/* ---- the file ----------------------------------------------------------------------------- */

/* Checks the file and all directories and links on the path to the file. Returns 1 if only root can have written the
 * file, 0 if another user may have written it. */
static int is_trusted(const char *path, int *ret_dir_fd, const char **ret_name)
{
    char *slash = strrchr(path, '/');
    _cleanup_free_ char *parent = strndup(path, slash > path ? (size_t)(slash - path) : 1);
    _cleanup_close_ int fd = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -EBADF;
    struct stat st;
    int r;

    if (!parent)
        return -ENOMEM;
    if (fd < 0 || fstatat(fd, slash + 1, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    r = nm_check_private_dir(fd);
    if (r >= 0)
        r = nm_check_parent_dirs(fd);
    if (r < 0 && r != -EPERM)
        return r;
    *ret_dir_fd = STEAL_FD(fd);
    *ret_name = slash + 1;
    return r >= 0 && S_ISREG(st.st_mode) && (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & 022);
}

static int add_refusal(struct nm_refusals *refusals, int error, const char *file, const char *why)
{
    char *message = NULL;

    (void)nm_fail(&message, error, "%s: %s", file, why);
    return message ? nm_refusals_add(refusals, error, message) : -ENOMEM;
}

static int handle_untrusted_file(const char *file, bool must_be_trusted, nm_yarn_warn_t warn, void *userdata,
                                 struct nm_refusals *refusals)
{
    static const char why[] = "users other than root can write to this file or to a directory above it, and the file "
                              "decides which accounts may run containers; make the file and these directories "
                              "writable only for root (chown root, chmod go-w)";
    _cleanup_free_ char *sentence = NULL;

    if (must_be_trusted)
        return add_refusal(refusals, -EPERM, file, why);
    if (asprintf(&sentence, "%s: ignored: %s, or remove the file", file, why) < 0) {
        sentence = NULL;
        return -ENOMEM;
    }
    if (warn)
        warn(sentence, userdata);
    return 0;
}

int nm_yarn_executor_load(const char *dir, bool must_be_trusted, nm_yarn_warn_t warn, void *userdata,
                          struct nm_yarn_executor *ret, struct nm_refusals *refusals)
{
    _cleanup_free_ char *path = NULL, *real = NULL, *text = malloc(FILE_MAX);
    _cleanup_close_ int dir_fd = -EBADF;
    const char *name = NULL;
    struct stat st;
    size_t size;
    int r;

    if (!text || asprintf(&path, "%s/" NM_YARN_EXECUTOR_FILE, dir) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    real = realpath(path, NULL);
    if (!real)
        return errno == ENOENT ? 0 : errno == ENOMEM ? -ENOMEM : add_refusal(refusals, -errno, path, strerror(errno));
    if (stat(real, &st) == 0 && !S_ISREG(st.st_mode))
        return add_refusal(refusals, -EBADMSG, real, NM_YARN_NOT_REGULAR);
    r = is_trusted(real, &dir_fd, &name);
    if (r == 0)
        return handle_untrusted_file(real, must_be_trusted, warn, userdata, refusals);
    if (r > 0)
        r = nm_read_plain_file_at(dir_fd, name, text, FILE_MAX, &size);
    if (r >= 0 && strlen(text) != size)
        r = -EBADMSG;
    if (r < 0)
        return r == -ENOMEM ? r : add_refusal(refusals, r, real, r == -EBADMSG ? "contains a NUL byte" : strerror(-r));
    return nm_yarn_executor_parse(real, text, warn, userdata, ret, refusals);
}

/* ---- rules -------------------------------------------------------------------------------- */

static bool is_listed(const struct nm_yarn_executor *e, size_t which, const char *user)
{
    static const char separators[] = "," BLANKS;
    const size_t size = strlen(user);

    for (const char *p = e->texts[which] ?: nm_yarn_executor_names[which].fallback; *(p += strspn(p, separators));) {
        size_t n = strcspn(p, separators);

        if (n == size && memcmp(p, user, n) == 0)
            return true;
        p += n;
    }
    return false;
}

int nm_yarn_executor_check(const struct nm_yarn_executor *e, const char *user, uid_t uid, char **ret_message)
{
    if (!e->file)
        return 0;
    if (uid < e->min_uid && !is_listed(e, ALLOWED, user))
        return nm_fail(ret_message, -EINVAL, "Containers would run as the user %s with the uid %ju, but the minimum "
                       "uid for containers on this node is %ju, except for users in allowed.system.users "
                       "(" NM_YARN_EXECUTOR_FILE ": "
                       "min.user.id)", user, (uintmax_t)uid, (uintmax_t)e->min_uid);
    if (is_listed(e, BANNED, user))
        return nm_fail(ret_message, -EINVAL, "Containers would run as the user %s, but this user is banned on this "
                       "node (" NM_YARN_EXECUTOR_FILE ": banned.users)", user);
    return 0;
}
