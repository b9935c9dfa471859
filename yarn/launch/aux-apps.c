/* SPDX-License-Identifier: Apache-2.0 */

/* See aux-apps.h. */

#include "yarn/launch/aux-apps.h"

#include <dirent.h>
#include <fcntl.h>

#include "util/fileio.h"
#include "util/json-text.h"
#include "util/parse.h"

#define FILE_MAX ((size_t)8 << 20)
#define PREFIX "application_"

/* ---- hexadecimal -------------------------------------------------------------------------- */

char *nm_yarn_aux_hex(struct nm_bytes bytes)
{
    static const char digits[] = "0123456789abcdef";
    char *text = bytes.size < SIZE_MAX / 2 ? malloc(2 * bytes.size + 1) : NULL, *out = text;

    if (!text)
        return NULL;
    for (size_t i = 0; i < bytes.size; i++) {
        *out++ = digits[bytes.data[i] >> 4];
        *out++ = digits[bytes.data[i] & 15];
    }
    *out = '\0';
    return text;
}

static bool is_hex(const char *digits)
{
    const size_t n = strlen(digits);

    return n % 2 == 0 && strspn(digits, "0123456789abcdef") == n;
}

int nm_yarn_aux_unhex(const char *digits, uint8_t **ret, size_t *ret_size)
{
    const size_t n = strlen(digits) / 2;
    uint8_t *bytes;

    if (!is_hex(digits))
        return -EBADMSG;
    bytes = malloc(n + 1);
    if (!bytes)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(nm_hex_digit(digits[2 * i]) << 4 | nm_hex_digit(digits[2 * i + 1]));
    *ret = bytes;
    *ret_size = n;
    return 0;
}

/* ---- applications ------------------------------------------------------------------------- */

/* Checks an application's id, which becomes the name of a file. */
static bool is_application(const char *name)
{
    return nm_name_is_valid(name) && strncmp(name, PREFIX, strlen(PREFIX)) == 0;
}

static void free_app(struct nm_yarn_aux_app *app)
{
    free(app->application);
    free(app->user);
    json_decref(app->data);
    free(app);
}

struct nm_yarn_aux_app *nm_yarn_aux_apps_find(struct nm_yarn_aux_apps *apps, const char *application)
{
    struct nm_yarn_aux_app *app;

    TAILQ_FOREACH(app, &apps->list, link)
        if (nm_streq(app->application, application))
            return app;
    return NULL;
}

/* Adds an application that isn't in the list. Takes over the reference to data, also on failure. */
static int insert(struct nm_yarn_aux_apps *apps, const char *application, const char *user, json_t *data,
                  struct nm_yarn_aux_app **ret)
{
    struct nm_yarn_aux_app *app = calloc(1, sizeof *app);

    if (!app) {
        json_decref(data);
        return -ENOMEM;
    }
    app->application = strdup(application);
    app->user = strdup(user);
    app->data = data;
    if (!app->application || !app->user || !app->data) {
        free_app(app);
        return -ENOMEM;
    }
    TAILQ_INSERT_TAIL(&apps->list, app, link);
    *ret = app;
    return 0;
}

/* ---- files -------------------------------------------------------------------------------- */

/* If saving fails, the application is known until nmd exits. */
static void save(const struct nm_yarn_aux_apps *apps, const struct nm_yarn_aux_app *app)
{
    json_t *o = json_pack("{s:s, s:O}", "user", app->user, "data", app->data);
    char *text = nm_json_text(o, JSON_COMPACT);

    if (text) {
        (void)nm_write_file_atomic_at(apps->state_fd, app->application, text, 0600);
        explicit_bzero(text, strlen(text)); /* the data may contain keys */
    }
    json_decref(o);
    free(text);
}

static bool is_data(const json_t *data)
{
    const char *name;
    json_t *value;

    if (!json_is_object(data))
        return false;
    json_object_foreach((json_t *)(uintptr_t)data, name, value)
        if (!json_is_string(value) || !is_hex(json_string_value(value)))
            return false;
    return true;
}

/* Restores an application. A file that isn't valid is skipped: the services don't learn about the end of its
 * application, but the node works. */
static void load_one(struct nm_yarn_aux_apps *apps, const char *name)
{
    struct nm_yarn_aux_app *app;
    uint8_t *text = NULL;
    size_t size;
    json_t *o, *data;
    const char *user;

    if (!is_application(name) || nm_read_regular_at(apps->state_fd, name, FILE_MAX, &text, &size) < 0)
        return;
    o = json_loadb((const char *)text, size, JSON_REJECT_DUPLICATES, NULL);
    explicit_bzero(text, size);
    free(text);
    if (json_unpack(o, "{s:s, s:o}", "user", &user, "data", &data) == 0 && nm_user_name_is_valid(user) &&
        is_data(data))
        (void)insert(apps, name, user, json_incref(data), &app);
    json_decref(o);
}

int nm_yarn_aux_apps_open(const char *dir, struct nm_yarn_aux_apps *ret)
{
    _cleanup_closedir_ DIR *stream = NULL;
    const struct dirent *d;
    int r;

    TAILQ_INIT(&ret->list);
    ret->state_fd = RET_NERRNO(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    r = ret->state_fd < 0 ? ret->state_fd : nm_opendir_at(ret->state_fd, &stream);
    if (r < 0) {
        ret->state_fd = nm_close(ret->state_fd);
        return r;
    }
    while ((d = readdir(stream)))
        load_one(ret, d->d_name);
    return 0;
}

void nm_yarn_aux_apps_done(struct nm_yarn_aux_apps *apps)
{
    struct nm_yarn_aux_app *app;

    while ((app = TAILQ_FIRST(&apps->list))) {
        TAILQ_REMOVE(&apps->list, app, link);
        free_app(app);
    }
    apps->state_fd = nm_close(apps->state_fd);
}

/* ---- changes ------------------------------------------------------------------------------ */

/* Sets the data of a service. Returns 1 if it is the same as before. */
static int set_data(struct nm_yarn_aux_app *app, const char *service, struct nm_bytes data)
{
    char *hex = nm_yarn_aux_hex(data);
    const char *former = json_string_value(json_object_get(app->data, service));
    int r = hex ? former && nm_streq(former, hex) : -ENOMEM;

    if (r == 0 && json_object_set_new(app->data, service, json_string(hex)) < 0)
        r = -ENOMEM;
    if (hex)
        explicit_bzero(hex, strlen(hex));
    free(hex);
    return r;
}

int nm_yarn_aux_apps_add(struct nm_yarn_aux_apps *apps, const char *application, const char *user, const char *service,
                         struct nm_bytes data, struct nm_yarn_aux_app **ret)
{
    struct nm_yarn_aux_app *app = nm_yarn_aux_apps_find(apps, application);
    const bool is_new = !app;
    int r = 0;

    if (!is_application(application) || !nm_user_name_is_valid(user))
        return -EBADMSG;
    if (is_new)
        r = insert(apps, application, user, json_object(), &app);
    if (r < 0)
        return r;
    app->ended = false;
    r = service ? set_data(app, service, data) : 1;
    if (r == 0 || (r > 0 && is_new))
        save(apps, app);
    if (r >= 0)
        *ret = app;
    return is_new && r > 0 ? 0 : r;
}

void nm_yarn_aux_apps_remove(struct nm_yarn_aux_apps *apps, struct nm_yarn_aux_app *app)
{
    (void)unlinkat(apps->state_fd, app->application, 0);
    TAILQ_REMOVE(&apps->list, app, link);
    free_app(app);
}
