/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads the XML files of a directory into the set, one after the other. A missing file is skipped. expat parses each
 * file, and this code interprets the elements:
 *
 *   <configuration>
 *     <property><name>a</name><value>1</value><final>true</final></property>
 *     <property name="a" value="1" final="true"/>
 *     <xi:include href="other.xml"><xi:fallback>...properties, if there is no such file...</xi:fallback></xi:include>
 *   </configuration>
 *
 * Other elements are ignored, and a property without a value isn't set. Reading of a file stops at its first error,
 * which is reported with file and line.
 */

#include "yarn/conf/conf-set.h"

#include <expat.h>
#include <stdarg.h>

#include "util/error.h"
#include "util/fileio.h"

/* ---- one file ----------------------------------------------------------------------------- */

#define DEPTH_MAX 16u

struct text {
    char *bytes;
    size_t size, max;
};

struct reading {
    struct nm_yarn_conf *conf;
    XML_Parser parser;
    int dir_fd;
    const char *file;
    unsigned depth, include_depth;
    unsigned skip_depth;    /* elements of at least this depth are ignored; 0: no element is ignored */
    struct text *into;      /* the text that receives the characters; NULL: the characters are ignored */
    struct text name, value, final;
    bool in_property, has_value;
    bool missing;           /* the file of the surrounding xi:include doesn't exist */
    int error;
    char *message;
};

static void stop(struct reading *s, int error)
{
    if (s->error == 0)
        s->error = error;
    (void)XML_StopParser(s->parser, XML_FALSE);
}

nm_printf(3, 4) static void refuse(struct reading *s, int error, const char *format, ...)
{
    _cleanup_free_ char *reason = NULL;
    char file[200], shown[400];
    va_list ap;

    if (s->error < 0)
        return;
    va_start(ap, format);
    reason = nm_strdup_vprintf(format, ap);
    va_end(ap);
    if (!reason) {
        error = -ENOMEM;
    } else {
        (void)nm_fail(&s->message, error, "%s:%lu: %s", nm_yarn_conf_printable(s->file, file, sizeof file),
                      (unsigned long)XML_GetCurrentLineNumber(s->parser),
                      nm_yarn_conf_printable(reason, shown, sizeof shown));
    }
    stop(s, error);
}

/* ---- text --------------------------------------------------------------------------------- */

static void text_clear(struct text *t)
{
    t->size = 0;
    if (t->bytes)
        t->bytes[0] = '\0';
}

static const char *text_get(const struct text *t)
{
    return t->bytes ?: "";
}

/* Appends characters. The buffer is allocated with its maximum size, since it is reused for all properties of a
 * file. */
static void text_add(struct reading *s, struct text *t, const char *from, size_t size)
{
    if (size > t->max - t->size) {
        refuse(s, -E2BIG, "a %s is longer than %zu bytes", t == &s->name ? "name" : "value", t->max);
        return;
    }
    if (!t->bytes && !(t->bytes = malloc(t->max + 1))) {
        stop(s, -ENOMEM);
        return;
    }
    memcpy(t->bytes + t->size, from, size);
    t->size += size;
    t->bytes[t->size] = '\0';
}

static void text_set(struct reading *s, struct text *t, const char *from)
{
    text_clear(t);
    text_add(s, t, from, strlen(from));
}

/* Trims the text in place. Names and "true" may be surrounded by line breaks. */
static const char *text_trimmed(struct text *t)
{
    static const char blanks[] = " \t\r\n";
    char *begin;

    if (!t->bytes)
        return "";
    while (t->size > 0 && strchr(blanks, t->bytes[t->size - 1]))
        t->bytes[--t->size] = '\0';
    begin = t->bytes + strspn(t->bytes, blanks);
    return begin;
}

/* ---- elements ----------------------------------------------------------------------------- */

static int read_file(struct nm_yarn_conf *c, int dir_fd, const char *file, const char *text, size_t size,
                     unsigned include_depth, char **ret_message);

static void begin_property(struct reading *s, const char **attributes)
{
    s->in_property = true;
    s->has_value = false;
    text_clear(&s->name);
    text_clear(&s->value);
    text_clear(&s->final);
    for (; *attributes; attributes += 2) {
        if (nm_streq(attributes[0], "name"))
            text_set(s, &s->name, attributes[1]);
        else if (nm_streq(attributes[0], "final"))
            text_set(s, &s->final, attributes[1]);
        else if (nm_streq(attributes[0], "value")) {
            text_set(s, &s->value, attributes[1]);
            s->has_value = true;
        }
    }
}

static void end_property(struct reading *s)
{
    const char *name = text_trimmed(&s->name);
    int r;

    s->in_property = false;
    if (!*name || !s->has_value)
        return;
    r = nm_yarn_conf_put(s->conf, s->file, name, text_get(&s->value), nm_streq(text_trimmed(&s->final), "true"));
    if (r == -E2BIG)
        refuse(s, r, "there are more than %u properties", NM_YARN_CONF_PROPERTIES_MAX);
    else if (r < 0)
        stop(s, r);
}

/* Returns why a file can't be read. */
static const char *why_unreadable(int r)
{
    return r == -EBADMSG ? NM_YARN_NOT_REGULAR : strerror(-r);
}

static int read_included(struct reading *s, const char *href)
{
    _cleanup_close_ int fd = s->dir_fd < 0 ? -ENOENT : nm_open_beneath(s->dir_fd, href, O_RDONLY | O_NONBLOCK);
    _cleanup_free_ char *text = NULL;
    size_t size;
    int r;

    if (fd < 0)
        return fd;
    text = malloc(NM_YARN_CONF_FILE_MAX);
    r = text ? nm_pread_plain_file(fd, text, NM_YARN_CONF_FILE_MAX, &size) : -ENOMEM;
    if (r < 0)
        return r;
    r = read_file(s->conf, s->dir_fd, href, text, size, s->include_depth + 1, &s->message);
    if (r < 0)
        stop(s, r); /* the message of this failure contains file and line already */
    return 0;
}

static void include(struct reading *s, const char **attributes)
{
    char shown[160];
    int r;

    while (*attributes && !nm_streq(*attributes, "href"))
        attributes += 2;
    if (!*attributes) {
        refuse(s, -EINVAL, "an include has no \"href\"");
        return;
    }
    nm_yarn_conf_printable(attributes[1], shown, sizeof shown);
    if (s->include_depth == NM_YARN_CONF_INCLUDE_DEPTH || !nm_yarn_conf_count_include(s->conf)) {
        refuse(s, -ELOOP, "include of '%s': there are too many includes, or they form a circle", shown);
        return;
    }
    r = read_included(s, attributes[1]);
    if (r == -ENOENT)
        s->missing = true; /* this is an error unless the include has a fallback */
    else if (r == -EXDEV || r == -ELOOP)
        refuse(s, r, "include of '%s': the included file must be below the directory of this file", shown);
    else if (r < 0)
        refuse(s, r, "include of '%s': %s", shown, why_unreadable(r));
}

static void end_include(struct reading *s)
{
    if (s->missing)
        refuse(s, -ENOENT, "the included file doesn't exist, and the include has no fallback");
}

/* Removes the namespace prefix of an element. The prefix isn't checked, since in practice files use no prefix but
 * xi. */
static const char *local_name(const char *element)
{
    const char *colon = strchr(element, ':');

    return colon ? colon + 1 : element;
}

static void XMLCALL on_begin(void *userdata, const XML_Char *element, const XML_Char **attributes)
{
    struct reading *s = userdata;
    const char *name = local_name(element);

    if (++s->depth > DEPTH_MAX) {
        refuse(s, -E2BIG, "elements are nested more than %u levels deep", DEPTH_MAX);
        return;
    }
    if (s->skip_depth || s->error < 0)
        return;
    if (s->in_property) {
        s->has_value |= nm_streq(name, "value");
        s->into = nm_streq(name, "name")    ? &s->name
                  : nm_streq(name, "value") ? &s->value
                  : nm_streq(name, "final") ? &s->final
                                            : NULL;
        if (s->into)
            text_clear(s->into);
    } else if (nm_streq(name, "property")) {
        begin_property(s, attributes);
    } else if (nm_streq(name, "include")) {
        include(s, attributes);
    } else if (nm_streq(name, "fallback")) {
        if (!s->missing)
            s->skip_depth = s->depth;
        s->missing = false;
    } else if (!nm_streq(name, "configuration")) {
        if (s->depth == 1)
            refuse(s, -EINVAL, "the root element is <%s>, but must be <configuration>", name);
        s->skip_depth = s->depth;
    }
}

static void XMLCALL on_end(void *userdata, const XML_Char *element)
{
    struct reading *s = userdata;
    const char *name = local_name(element);

    if (s->skip_depth) {
        if (s->depth-- == s->skip_depth)
            s->skip_depth = 0;
        return;
    }
    s->depth--;
    s->into = NULL;
    if (s->error < 0)
        return;
    if (s->in_property && nm_streq(name, "property"))
        end_property(s);
    else if (nm_streq(name, "include"))
        end_include(s);
}

static void XMLCALL on_text(void *userdata, const XML_Char *text, int size)
{
    struct reading *s = userdata;

    if (s->into && !s->skip_depth && s->error == 0)
        text_add(s, s->into, text, (size_t)size);
}

static void XMLCALL on_doctype(void *userdata, const XML_Char *name, const XML_Char *system, const XML_Char *public,
                               int has_internal)
{
    (void)name, (void)system, (void)public, (void)has_internal;
    refuse(userdata, -EINVAL, "DTDs are not supported");
}

/* ---- files -------------------------------------------------------------------------------- */

static void parse(struct reading *s, const char *text, size_t size)
{
    XML_SetUserData(s->parser, s);
    XML_SetElementHandler(s->parser, on_begin, on_end);
    XML_SetCharacterDataHandler(s->parser, on_text);
    XML_SetStartDoctypeDeclHandler(s->parser, on_doctype);
    if (XML_Parse(s->parser, text, (int)size, 1) != XML_STATUS_OK && s->error == 0) {
        if (XML_GetErrorCode(s->parser) == XML_ERROR_NO_MEMORY)
            s->error = -ENOMEM;
        else
            refuse(s, -EBADMSG, "invalid XML: %s", XML_ErrorString(XML_GetErrorCode(s->parser)));
    }
}

static int read_file(struct nm_yarn_conf *c, int dir_fd, const char *file, const char *text, size_t size,
                     unsigned include_depth, char **ret_message)
{
    struct reading s = {.conf = c, .dir_fd = dir_fd, .include_depth = include_depth,
                        .name.max = NM_YARN_CONF_NAME_MAX, .value.max = NM_YARN_CONF_VALUE_MAX, .final.max = 64};

    s.file = nm_yarn_conf_intern_file(c, file);
    s.parser = XML_ParserCreate(NULL);
    if (!s.file || !s.parser)
        s.error = -ENOMEM;
    else
        parse(&s, text, size);
    if (s.parser)
        XML_ParserFree(s.parser);
    free(s.name.bytes);
    free(s.value.bytes);
    free(s.final.bytes);
    if (s.message && ret_message)
        *ret_message = s.message;
    else
        free(s.message);
    return s.error;
}

int nm_yarn_conf_read_text(struct nm_yarn_conf *c, int dir_fd, const char *file, const char *text, size_t size,
                           char **ret_message)
{
    char shown[200];

    if (size > NM_YARN_CONF_FILE_MAX)
        return nm_fail(ret_message, -E2BIG, "%s: the file is larger than %u KiB, the maximum for a configuration file",
                       nm_yarn_conf_printable(file, shown, sizeof shown), NM_YARN_CONF_FILE_MAX / 1024);
    return read_file(c, dir_fd, file, text, size, 0, ret_message);
}

/* ---- a directory -------------------------------------------------------------------------- */

int nm_yarn_conf_read_file(struct nm_yarn_conf *c, int dir_fd, const char *dir, const char *name, char **ret_message)
{
    _cleanup_free_ char *text = malloc(NM_YARN_CONF_FILE_MAX), *path = NULL;
    char shown[200];
    size_t size;
    int r;

    if (!text || asprintf(&path, "%s/%s", dir, name) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    r = nm_read_plain_file_at(dir_fd, name, text, NM_YARN_CONF_FILE_MAX, &size);
    if (r == 0)
        return nm_yarn_conf_read_text(c, dir_fd, path, text, size, ret_message);
    nm_yarn_conf_printable(path, shown, sizeof shown);
    if (r == -E2BIG)
        return nm_fail(ret_message, r, "%s: the file is larger than %u KiB, the maximum for a configuration "
                                       "file", shown,
                       NM_YARN_CONF_FILE_MAX / 1024);
    return r == -ENOENT ? 1 : nm_fail(ret_message, r, "%s: can't read: %s", shown, why_unreadable(r));
}

int nm_yarn_conf_read_dir(struct nm_yarn_conf *c, const char *dir, struct nm_refusals *refusals, char **ret_message)
{
    static const char *const names[] = {"core-site.xml", "hdfs-site.xml", "mapred-site.xml", "yarn-site.xml",
                                        "resource-types.xml", "node-resources.xml", "hadoop-policy.xml"};
    _cleanup_(nm_refusals_done) struct nm_refusals failures = {};
    _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned n = 0;
    char shown[200];

    nm_yarn_conf_printable(dir, shown, sizeof shown);
    if (fd < 0) {
        int error = errno;
        return nm_fail(ret_message, -error, "%s: can't open: %s", shown, strerror(error));
    }
    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++) {
        char *message = NULL;
        int r = nm_yarn_conf_read_file(c, fd, dir, names[i], &message);

        n += r == 0;
        r = nm_refusals_add(&failures, r, message);
        if (r < 0)
            return r;
    }
    if (n == 0 && failures.text)
        return nm_refusals_take(&failures, ret_message);
    if (n == 0)
        return nm_fail(ret_message, -ENOENT, "%s: contains neither yarn-site.xml nor core-site.xml", shown);
    return nm_refusals_add(refusals, failures.error, STEAL_PTR(failures.text));
}
