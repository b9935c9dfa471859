/* SPDX-License-Identifier: Apache-2.0 */

/* See unit.h. */

#include "yarn/setup/unit.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"
#include "util/fileio.h"
#include "util/parse.h"

#define DROP_IN_MAX ((size_t)256 << 10)

/* ---- networks ----------------------------------------------------------------------------- */

static bool parse_one(const char *word, struct nm_setup_net *ret)
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
    if (inet_pton(net.family, address, net.bytes) != 1 || (slash && nm_parse_u64(slash + 1, &bits) < 0) || bits > most)
        return false;
    net.bits = (unsigned)bits;
    *ret = net;
    return true;
}

size_t nm_setup_net_parse(const char *word, struct nm_setup_net ret[2])
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
            return parse_one(words[i].v4, &ret[0]) && parse_one(words[i].v6, &ret[1]) ? 2 : 0;
    return parse_one(word, &ret[0]) ? 1 : 0;
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

    if (!parse_one(address, &host))
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

/* ---- drop-ins ----------------------------------------------------------------------------- */

/* An empty value clears what earlier files have allowed. */
static void take_allowed(struct nm_setup_unit *u, char *value)
{
    struct nm_setup_net nets[2];
    char *word;

    if (!*value)
        u->n = 0;
    while ((word = strsep(&value, " \t"))) {
        const size_t n = nm_setup_net_parse(word, nets);

        for (size_t i = 0; i < n && u->n < NM_SETUP_NETS_MAX; i++)
            u->nets[u->n++] = nets[i];
    }
}

static void take_line(struct nm_setup_unit *u, char *line)
{
    static const char allow[] = "IPAddressAllow=", environment[] = "Environment=";

    if (strncmp(line, allow, strlen(allow)) == 0)
        take_allowed(u, line + strlen(allow));
    else if (strncmp(line, environment, strlen(environment)) == 0)
        u->has_java = line[strlen(environment)] && (u->has_java || strstr(line, "JAVA_HOME="));
}

void nm_setup_unit_add(struct nm_setup_unit *u, const char *text, size_t size)
{
    bool is_service = false;

    for (const char *at = text, *end = text + size; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *last = newline ?: end;
        char line[2048];
        size_t n;

        while (at < last && isspace((unsigned char)*at))
            at++;
        for (n = (size_t)(last - at); n > 0 && isspace((unsigned char)at[n - 1]);)
            n--;
        n = NM_MIN(n, sizeof line - 1);
        memcpy(line, at, n);
        line[n] = '\0';
        if (*line == '[')
            is_service = nm_streq(line, "[Service]");
        else if (is_service)
            take_line(u, line);
        at = last + 1;
    }
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

void nm_setup_unit_read(const char *dir, struct nm_setup_unit *ret)
{
    _cleanup_close_ int fd = RET_NERRNO(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct dirent **list = NULL;
    const int n = fd < 0 ? 0 : scandir(dir, &list, is_drop_in, by_name);

    *ret = (struct nm_setup_unit){};
    for (int i = 0; i < n; i++) {
        _cleanup_free_ uint8_t *text = NULL;
        size_t size;

        if (nm_read_regular_at(fd, list[i]->d_name, DROP_IN_MAX, &text, &size) == 0)
            nm_setup_unit_add(ret, (const char *)text, size);
        free(list[i]);
    }
    free(list);
}
