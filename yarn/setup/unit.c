/* SPDX-License-Identifier: Apache-2.0 */

/* See unit.h. */

#include "yarn/setup/unit.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <fcntl.h>
#include <string.h>

#include "yarn/setup/files.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/parse.h"

#define DROP_IN_MAX ((size_t)256 << 10)

const char *const nm_setup_variables[] = {
    [NM_SETUP_JAVA_HOME] = "JAVA_HOME",
    [NM_SETUP_HADOOP_HOME] = "HADOOP_HOME",
    [NM_SETUP_HADOOP_COMMON_HOME] = "HADOOP_COMMON_HOME",
    [NM_SETUP_HADOOP_HDFS_HOME] = "HADOOP_HDFS_HOME",
    [NM_SETUP_HADOOP_YARN_HOME] = "HADOOP_YARN_HOME",
    [NM_SETUP_HADOOP_MAPRED_HOME] = "HADOOP_MAPRED_HOME",
    [NM_SETUP_HADOOP_CONF_DIR] = "HADOOP_CONF_DIR",
};

/* ---- networks ----------------------------------------------------------------------------- */

/* Parses the length of a network prefix. systemd reads a number with a leading zero as octal, which is rarely intended.
 * With 08, systemd ignores the line. With 010, it allows another network. */
static bool parse_bits(const char *word, bool as_systemd, uint64_t *ret)
{
    const bool is_octal = word[0] == '0' && word[1];

    if (!is_octal)
        return nm_parse_u64(word, ret) == 0;
    return as_systemd && nm_parse_mode(word, 1, 8, ret) == 0;
}

static bool parse_one(const char *word, bool as_systemd, struct nm_setup_net *ret)
{
    struct nm_setup_net net = {.family = strchr(word, ':') ? AF_INET6 : AF_INET};
    const unsigned most = net.family == AF_INET ? 32 : 128;
    char address[INET6_ADDRSTRLEN];
    const char *slash = strchr(word, '/');
    const size_t size = slash ? (size_t)(slash - word) : strlen(word);
    uint64_t bits = most;

    if (size >= sizeof address)
        return false;
    memcpy(address, word, size);
    address[size] = '\0';
    if (inet_pton(net.family, address, net.bytes) != 1 || (slash && !parse_bits(slash + 1, as_systemd, &bits)) ||
        bits > most)
        return false;
    net.bits = (unsigned)bits;
    *ret = net;
    return true;
}

static size_t parse_word(const char *word, bool as_systemd, struct nm_setup_net ret[2])
{
    static const struct {
        const char *name, *v4, *v6;
    } words[] = {
        {"any", "0.0.0.0/0", "::/0"},
        {"localhost", "127.0.0.0/8", "::1"},
        {"link-local", "169.254.0.0/16", "fe80::/64"},
        {"multicast", "224.0.0.0/4", "ff00::/8"},
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++)
        if (nm_streq(word, words[i].name))
            return parse_one(words[i].v4, false, &ret[0]) && parse_one(words[i].v6, false, &ret[1]) ? 2 : 0;
    return parse_one(word, as_systemd, &ret[0]) ? 1 : 0;
}

size_t nm_setup_net_parse(const char *word, struct nm_setup_net ret[2])
{
    return parse_word(word, false, ret);
}

static bool is_in(const struct nm_setup_net *net, const struct nm_setup_net *host)
{
    if (net->family != host->family)
        return false;
    for (unsigned i = 0; i < net->bits; i++) {
        const uint8_t bit = (uint8_t)(0x80u >> i % 8);

        if ((net->bytes[i / 8] & bit) != (host->bytes[i / 8] & bit))
            return false;
    }
    return true;
}

bool nm_setup_unit_allows(const struct nm_setup_unit *u, const char *address)
{
    struct nm_setup_net own[2], host;

    if (!parse_one(address, false, &host))
        return false;
    (void)nm_setup_net_parse("localhost", own);
    if (is_in(&own[0], &host) || is_in(&own[1], &host))
        return true;
    for (size_t i = 0; i < u->n; i++)
        if (is_in(&u->nets[i], &host))
            return true;
    return false;
}

bool nm_setup_unit_has_network(const struct nm_setup_unit *u)
{
    for (size_t i = 0; i < u->n; i++)
        if (u->nets[i].bits < (u->nets[i].family == AF_INET ? 32u : 128u))
            return true;
    return false;
}

/* ---- writable paths ----------------------------------------------------------------------- */

static bool is_protected(enum nm_setup_protect protect, const char *path)
{
    static const char *const tops[] = {"/usr", "/boot", "/efi", "/etc"};
    const size_t n = protect == NM_SETUP_PROTECT_NO    ? 0
                     : protect == NM_SETUP_PROTECT_YES ? 3 /* without /etc */
                                                       : NM_ARRAY_SIZE(tops);

    for (size_t i = 0; i < n; i++)
        if (nm_setup_is_above(tops[i], path))
            return true;
    return protect == NM_SETUP_PROTECT_STRICT;
}

bool nm_setup_unit_writes(const struct nm_setup_unit *u, const char *path)
{
    for (size_t i = 0; i < u->n_writable; i++)
        if (nm_streq(u->writable[i], path) || nm_setup_is_above(u->writable[i], path) ||
            nm_streq(u->writable[i], "/"))
            return true;
    return !is_protected(u->protect, path);
}

/* ---- drop-ins ----------------------------------------------------------------------------- */

/* Adds the networks of a line. As in systemd, an empty value clears the networks of earlier lines. */
static int take_allowed(struct nm_setup_unit *u, char *value)
{
    struct nm_setup_net nets[2];
    char *word;

    if (!*value)
        u->n = 0;
    while ((word = strsep(&value, " \t"))) {
        const size_t n = parse_word(word, true, nets);

        for (size_t i = 0; i < n && u->n < NM_SETUP_NETS_MAX; i++)
            u->nets[u->n++] = nets[i];
    }
    return 0;
}

/* Returns whether the line assigns a value to the variable. The whole assignment may be inside quotes. */
static bool assigns(const char *line, const char *name)
{
    const size_t n = strlen(name);

    for (const char *p = line; (p = strstr(p, name)); p++)
        if (p[n] == '=' && (p == line || strchr(" \t\"'", p[-1])))
            return true;
    return false;
}

static int take_environment(struct nm_setup_unit *u, char *value)
{
    for (size_t i = 0; i < NM_SETUP_N_VARIABLES; i++)
        u->has[i] = *value && (u->has[i] || assigns(value, nm_setup_variables[i]));
    return 0;
}

static void drop_writable(struct nm_setup_unit *u)
{
    while (u->n_writable > 0)
        free(u->writable[--u->n_writable]);
}

/* Adds the paths of a line. The prefix '-' marks a path that may be missing. The prefix '+' marks a path relative to
 * RootDirectory=. */
static int take_writable(struct nm_setup_unit *u, char *value)
{
    char *word;

    if (!*value)
        drop_writable(u);
    while ((word = strsep(&value, " \t"))) {
        word += strspn(word, "-+\"'");
        word[strcspn(word, "\"'")] = '\0';
        for (size_t n = strlen(word); n > 1 && word[n - 1] == '/'; n--)
            word[n - 1] = '\0';
        if (*word != '/' || u->n_writable == NM_SETUP_WRITABLE_MAX)
            continue;
        u->writable[u->n_writable] = strdup(word);
        if (!u->writable[u->n_writable])
            return -ENOMEM;
        u->n_writable++;
    }
    return 0;
}

static int take_protect(struct nm_setup_unit *u, char *value)
{
    bool protects = false;

    if (nm_streq(value, "strict"))
        u->protect = NM_SETUP_PROTECT_STRICT;
    else if (nm_streq(value, "full"))
        u->protect = NM_SETUP_PROTECT_FULL;
    else if (!*value || nm_parse_bool(value, &protects) == 0)
        u->protect = protects ? NM_SETUP_PROTECT_YES : NM_SETUP_PROTECT_NO;
    return 0;
}

static int take_assignment(struct nm_setup_unit *u, char *line)
{
    static const struct {
        const char *key;
        int (*take)(struct nm_setup_unit *u, char *value);
    } keys[] = {
        {"IPAddressAllow", take_allowed},
        {"Environment", take_environment},
        {"ReadWritePaths", take_writable},
        {"ProtectSystem", take_protect},
    };
    char *value = strchr(line, '=');
    const char *key;

    if (!value)
        return 0;
    *value++ = '\0';
    key = nm_strip(line);
    for (size_t i = 0; i < NM_ARRAY_SIZE(keys); i++)
        if (nm_streq(key, keys[i].key))
            return keys[i].take(u, nm_strip(value));
    return 0;
}

static int take_line(struct nm_setup_unit *u, char *line, bool *is_service)
{
    line = nm_strip(line);
    if (*line == '[')
        *is_service = nm_streq(line, "[Service]");
    else if (*is_service)
        return take_assignment(u, line);
    return 0;
}

static bool is_comment(const char *line, size_t n)
{
    while (n > 0 && isspace((unsigned char)*line)) {
        line++;
        n--;
    }
    return n > 0 && (*line == '#' || *line == ';');
}

/* Returns whether the line continues in the next one: it ends with a backslash that isn't escaped by another one. */
static bool is_continued(const char *line, size_t n)
{
    size_t first = n;

    while (first > 0 && line[first - 1] == '\\')
        first--;
    return (n - first) % 2 == 1;
}

/* Joins continued lines as systemd does: the backslash becomes a blank, and comments between the parts are ignored. */
int nm_setup_unit_add(struct nm_setup_unit *u, const char *text, size_t size)
{
    _cleanup_free_ char *line = malloc(size + 1);
    bool is_service = false;
    size_t len = 0;
    int r = 0;

    if (!line)
        return -ENOMEM;
    for (const char *at = text, *end = text + size, *next; r == 0 && at < end; at = next) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((newline ?: end) - at);

        next = at + n + 1;
        if (n > 0 && at[n - 1] == '\r')
            n--;
        if (is_comment(at, n))
            continue;
        memcpy(line + len, at, n);
        len += n;
        if (is_continued(line, len)) {
            line[len - 1] = ' ';
            continue;
        }
        line[len] = '\0';
        len = 0;
        r = take_line(u, line, &is_service);
    }
    line[len] = '\0';
    return r < 0 ? r : take_line(u, line, &is_service); /* the last line may end with a backslash, too */
}

static int is_drop_in(const struct dirent *e)
{
    const size_t n = strlen(e->d_name);

    return n > 5 && nm_streq(e->d_name + n - 5, ".conf");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int nm_setup_unit_read(const char *dir, struct nm_setup_unit *ret)
{
    _cleanup_close_ int fd = RET_NERRNO(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct dirent **list = NULL;
    const int n = fd < 0 ? 0 : scandir(dir, &list, is_drop_in, by_name);
    int r = fd == -ENOMEM || (n < 0 && errno == ENOMEM) ? -ENOMEM : 0;

    for (int i = 0; i < n; i++) {
        _cleanup_free_ uint8_t *text = NULL;
        size_t size;

        if (r == 0 && nm_read_regular_at(fd, list[i]->d_name, DROP_IN_MAX, &text, &size) == -ENOMEM)
            r = -ENOMEM;
        if (r == 0 && text)
            r = nm_setup_unit_add(ret, (const char *)text, size);
        free(list[i]);
    }
    free(list);
    return r;
}

struct nm_setup_unit *nm_setup_unit_free(struct nm_setup_unit *u)
{
    if (u)
        drop_writable(u);
    free(u);
    return NULL;
}
