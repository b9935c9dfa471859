/* SPDX-License-Identifier: Apache-2.0 */

/* See entry-name.h. */

#include "localize/worker/entry-name.h"

#include <errno.h>
#include <langinfo.h>

#include "util/macros.h"

/* Returns the length of the next part of *path, or 0 at the end. Sets *path to the end of this part. */
static size_t next_part(const char **path, const char **ret)
{
    size_t len;

    *path += strspn(*path, "/");
    *ret = *path;
    len = strcspn(*path, "/");
    *path += len;
    return len;
}

static bool is_part(const char *part, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(part, word, len) == 0;
}

/* Removes the last part. Returns false if the path is empty. */
static bool go_up(const char *path, size_t *size, unsigned *depth)
{
    if (*size == 0)
        return false;
    while (*size > 0 && path[*size - 1] != '/')
        (*size)--;
    *size -= *size > 0; /* removes the slash, too */
    (*depth)--;
    return true;
}

int nm_entry_name_normalize(const char *name, char ret[static PATH_MAX])
{
    char path[PATH_MAX];
    size_t size = 0, len;
    const char *part;
    unsigned depth = 0;

    while ((len = next_part(&name, &part)) > 0) {
        if (is_part(part, len, "."))
            continue;
        if (is_part(part, len, "..")) {
            if (!go_up(path, &size, &depth))
                return -EXDEV;
            continue;
        }
        if (len > NAME_MAX || size + len + 2 > sizeof path || ++depth > NM_ENTRY_NAME_MAX_DEPTH)
            return -ENAMETOOLONG;
        if (size > 0)
            path[size++] = '/';
        memcpy(path + size, part, len);
        size += len;
    }
    path[size] = '\0';
    memcpy(ret, path, size + 1);
    return 0;
}

bool nm_entry_link_is_safe(const char *target)
{
    const char *part;
    size_t len;

    if (*target == '/' || !*target)
        return false;
    while ((len = next_part(&target, &part)) > 0)
        if (is_part(part, len, ".."))
            return false;
    return true;
}

/* ---- character sets -------------------------------------------------------------------------- */

/* glibc has the locale C.UTF-8 since version 2.35; distributions had added this locale earlier. */
static const char *const utf8_names[] = {"C.UTF-8", "C.utf8", "en_US.UTF-8"};

locale_t nm_charset_begin(bool is_bytes)
{
    locale_t wanted = is_bytes ? newlocale(LC_CTYPE_MASK, "C", (locale_t)0) : (locale_t)0;

    for (size_t i = 0; !is_bytes && !wanted && i < NM_ARRAY_SIZE(utf8_names); i++)
        wanted = newlocale(LC_CTYPE_MASK, utf8_names[i], (locale_t)0);
    return uselocale(wanted);
}

void nm_charset_end(locale_t *before)
{
    locale_t ours = uselocale(*before);

    if (ours && ours != LC_GLOBAL_LOCALE && ours != *before)
        freelocale(ours);
}

bool nm_charset_is_utf8(void)
{
    return nm_streq(nl_langinfo(CODESET), "UTF-8");
}
