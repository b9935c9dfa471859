/* SPDX-License-Identifier: Apache-2.0 */

/* See log-state.h. */

#include "yarn/logs/log-state.h"

#include <inttypes.h>
#include <stdio.h>

#include "util/error.h"
#include "util/json-text.h"
#include "util/parse.h"
#include "util/utf8.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz_0123456789"

static const char *const names[] = {
    [NM_YARN_LOG_OPEN] = "open",
    [NM_YARN_LOG_UPLOADED] = "uploaded",
    [NM_YARN_LOG_GIVEN_UP] = "given up",
};

const char *nm_yarn_log_state_name(enum nm_yarn_log_state state)
{
    return names[state];
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Consumes the reference. */
static char *line_of(json_t *o)
{
    _cleanup_free_ char *text = o ? nm_json_text(o, JSON_COMPACT) : NULL;

    json_decref(o);
    return text ? nm_strdup_printf("%s\n", text) : NULL;
}

/* The path is only for messages, so what isn't UTF-8 is left out. NULL: no memory. */
static json_t *dirs_to_json(const struct nm_yarn_log_book *b)
{
    json_t *o = json_object();

    for (size_t i = 0; o && i < b->n_dirs; i++) {
        const char *path = b->dirs[i].path;

        if (json_object_set_new(o, b->dirs[i].id, json_stringn(path, nm_utf8_prefix(path))) < 0) {
            json_decref(o);
            return NULL;
        }
    }
    return o;
}

static char *header_line(const struct nm_yarn_log_book *b)
{
    return line_of(json_pack("{s:s, s:s*, s:o, s:s*, s:s*, s:I, s:b, s:o}", "user", b->user,
                             "account", b->account, "context", nm_yarn_log_context_to_json(&b->context),
                             "view_acl", b->view_acl, "modify_acl", b->modify_acl,
                             "last_msec", (json_int_t)b->last_msec, "incomplete", b->is_incomplete,
                             "dirs", dirs_to_json(b)));
}

/* The ids of containers need no escapes. */
char *nm_yarn_log_state_ended_line(const char *container)
{
    return nm_strdup_printf("{\"ended\":\"%s\"}\n", container);
}

char *nm_yarn_log_state_upload_line(const struct nm_yarn_log_book *b)
{
    return nm_strdup_printf("{\"upload\":%" PRIu64 ",\"n\":%zu,\"final\":%s}\n", b->upload.msec, b->upload.n,
                            b->upload.is_final ? "true" : "false");
}

char *nm_yarn_log_state_finished_line(const struct nm_yarn_log_book *b)
{
    return nm_strdup_printf("{\"finished\":%" PRIu64 "}\n", b->finished_realtime_usec);
}

static char *state_line(const struct nm_yarn_log_book *b)
{
    return line_of(json_pack("{s:s, s:s%}", "state", names[b->state], "error", b->error,
                             nm_utf8_prefix(b->error)));
}

/* Appends the line and frees it. */
static int put(FILE *out, char *line)
{
    _cleanup_free_ char *text = line;

    return text && fputs(text, out) >= 0 ? 0 : -ENOMEM;
}

static int put_all(FILE *out, const struct nm_yarn_log_book *b)
{
    int r = put(out, header_line(b));

    for (size_t i = 0; r == 0 && i < b->n_ended; i++)
        r = put(out, nm_yarn_log_state_ended_line(b->ended[i]));
    if (r == 0 && b->upload.msec > 0)
        r = put(out, nm_yarn_log_state_upload_line(b));
    if (r == 0 && b->is_finished)
        r = put(out, nm_yarn_log_state_finished_line(b));
    if (r == 0 && b->state != NM_YARN_LOG_OPEN)
        r = put(out, state_line(b));
    return r;
}

char *nm_yarn_log_state_text(const struct nm_yarn_log_book *b)
{
    _cleanup_free_ char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int r;

    if (!out)
        return NULL;
    r = put_all(out, b);
    if (fclose(out) != 0 || r < 0)
        return NULL;
    return STEAL_PTR(text);
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool is_container(const char *text)
{
    return strncmp(text, "container_", 10) == 0 && strlen(text) < NM_YARN_ID_SIZE &&
           text[strspn(text, LETTERS)] == '\0';
}

static int take_dir(struct nm_yarn_log_book *b, const char *id, const json_t *path)
{
    if (!json_is_string(path) || !*id || strlen(id) >= NM_YARN_LOG_DIR_ID_SIZE || id[strspn(id, LETTERS "-")] != '\0')
        return -EBADMSG;
    return nm_yarn_log_book_add_dir(b, id, json_string_value(path));
}

static int take_dirs(struct nm_yarn_log_book *b, json_t *dirs)
{
    const char *id;
    json_t *path;
    int r = !dirs || json_is_object(dirs) ? 0 : -EBADMSG;

    json_object_foreach(dirs, id, path)
        if (r >= 0)
            r = take_dir(b, id, path);
    if (r >= 0 || r == -ENOMEM)
        return NM_MIN(r, 0);
    nm_yarn_log_book_set_incomplete(b, "the saved list of its directories is damaged");
    b->is_unsaved = true;
    return 0;
}

static int parse_header(const struct nm_yarn_application_id *id, const json_t *o, struct nm_yarn_log_book **ret)
{
    _cleanup_(nm_yarn_log_book_freep) struct nm_yarn_log_book *b = NULL;
    _cleanup_(nm_yarn_log_context_donep) struct nm_yarn_log_context context = {0};
    const char *user, *account = NULL, *view_acl = NULL, *modify_acl = NULL;
    json_t *saved, *dirs = NULL;
    json_int_t last_msec = 0;
    int is_incomplete = 0, r;

    if (json_unpack((json_t *)(uintptr_t)o, "{s:s, s?:s, s:o, s?:s, s?:s, s?:I, s?:b, s?:o}", "user", &user,
                    "account", &account, "context", &saved, "view_acl", &view_acl, "modify_acl", &modify_acl,
                    "last_msec", &last_msec, "incomplete", &is_incomplete, "dirs", &dirs) < 0 ||
        !nm_user_name_is_valid(user) || (account && !nm_user_name_is_valid(account)) || last_msec < 0)
        return -EBADMSG;
    r = nm_yarn_log_context_from_json(saved, &context);
    if (r == 0)
        r = nm_yarn_log_book_new(id, user, &context, &b);
    if (r == 0)
        r = nm_yarn_log_book_set_account(b, account);
    if (r == 0)
        r = nm_yarn_log_book_set_acls(b, view_acl, modify_acl);
    if (r < 0)
        return r;
    b->is_restored = true;
    b->is_incomplete = is_incomplete;
    b->last_msec = (uint64_t)last_msec;
    r = take_dirs(b, dirs);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(b);
    return 0;
}

static int take_upload(struct nm_yarn_log_book *b, const json_t *o)
{
    json_int_t msec, n;
    int is_final;

    if (json_unpack((json_t *)(uintptr_t)o, "{s:I, s:I, s:b}", "upload", &msec, "n", &n, "final", &is_final) < 0 ||
        msec <= 0 || n < 0 || (uint64_t)n > b->n_ended || (uint64_t)n > NM_YARN_LOG_UPLOAD_MAX)
        return -EBADMSG;
    b->upload = (struct nm_yarn_log_upload){.msec = (uint64_t)msec, .n = (size_t)n, .is_final = is_final};
    b->last_msec = NM_MAX(b->last_msec, b->upload.msec);
    return 0;
}

static int take_state(struct nm_yarn_log_book *b, const json_t *o)
{
    const char *name, *error = "";
    int i;

    if (json_unpack((json_t *)(uintptr_t)o, "{s:s, s?:s}", "state", &name, "error", &error) < 0)
        return -EBADMSG;
    i = nm_find_name(names, NM_ARRAY_SIZE(names), name);
    if (i < 0)
        return -EBADMSG;
    b->state = (enum nm_yarn_log_state)i;
    (void)snprintf(b->error, sizeof b->error, "%s", error);
    return 0;
}

static int take_line(struct nm_yarn_log_book *b, const json_t *o)
{
    const char *container = json_string_value(json_object_get(o, "ended"));
    const json_t *finished = json_object_get(o, "finished");

    if (container)
        return is_container(container) ? nm_yarn_log_book_restore(b, container) : -EBADMSG;
    if (json_object_get(o, "upload"))
        return take_upload(b, o);
    if (json_object_get(o, "state"))
        return take_state(b, o);
    if (!json_is_integer(finished) || json_integer_value(finished) < 0)
        return -EBADMSG;
    nm_yarn_log_book_finish(b, 0, (uint64_t)json_integer_value(finished));
    return 0;
}

/* Records that a line is damaged. The next change then saves the whole text. A line that was appended to the rest of a
 * line would be lost, too. */
static void note_damage(struct nm_yarn_log_book *b)
{
    nm_yarn_log_book_set_incomplete(b, "the saved list of its containers is damaged");
    b->is_unsaved = true;
}

/* The final upload covers all containers, also in a text whose lines were changed by hand. */
static void settle(struct nm_yarn_log_book *b)
{
    if (b->upload.is_final && (!b->is_finished || b->upload.n < b->n_ended)) {
        b->upload = (struct nm_yarn_log_upload){0};
        note_damage(b);
    }
    if (b->state != NM_YARN_LOG_OPEN)
        b->upload = (struct nm_yarn_log_upload){0};
}

/* Parses one line. Without memory, the line must not count as damaged. */
static int load_line(const char *line, size_t size, json_t **ret)
{
    json_error_t error;
    json_t *o = json_loadb(line, size, JSON_REJECT_DUPLICATES, &error);

    if (!o)
        return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EBADMSG;
    if (!json_is_object(o)) {
        json_decref(o);
        return -EBADMSG;
    }
    *ret = o;
    return 0;
}

int nm_yarn_log_state_parse(const char *application, struct nm_bytes text, struct nm_yarn_log_book **ret)
{
    _cleanup_(nm_yarn_log_book_freep) struct nm_yarn_log_book *b = NULL;
    const char *p = (const char *)text.data, *const end = p + text.size;
    struct nm_yarn_application_id id;

    if (text.size == 0 || nm_yarn_application_id_parse(application, &id) < 0)
        return -EBADMSG;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ?: end;
        json_t *o = NULL;
        int r = load_line(p, (size_t)(stop - p), &o);

        if (r == 0)
            r = b ? take_line(b, o) : parse_header(&id, o, &b);
        json_decref(o);
        if (r == -ENOMEM || !b)
            return r;
        if (r < 0)
            note_damage(b);
        b->is_unsaved |= !newline;
        p = newline ? newline + 1 : end;
    }
    settle(b);
    *ret = STEAL_PTR(b);
    return 0;
}
