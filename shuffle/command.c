/* SPDX-License-Identifier: Apache-2.0 */

/* See command.h. */

#include "shuffle/command.h"

#include <string.h>

#include <nettle/base16.h>

#include "util/error.h"
#include "util/json-text.h"
#include "util/macros.h"

void nm_shuffle_command_text(const json_t *from, const char *name, char *ret, size_t size)
{
    const char *text = json_string_value(json_object_get(from, name));
    size_t length = text ? json_string_length(json_object_get(from, name)) : 0;

    *ret = '\0';
    if (text && length < size && strlen(text) == length)
        *(char *)mempcpy(ret, text, length) = '\0';
}

/* Checks a user's name, because it becomes a part of a path. Some users' names are not accepted by nm_name_is_valid():
 * "_x$". */
static bool is_user(const char *user)
{
    return *user && !strchr(user, '/') && !nm_streq(user, ".") && !nm_streq(user, "..");
}

int nm_shuffle_command_user(const json_t *from, char *ret_user, size_t size, uid_t *ret_uid, char **ret_message)
{
    const json_t *uid = json_object_get(from, "uid");

    nm_shuffle_command_text(from, "user", ret_user, size);
    if (!is_user(ret_user))
        return nm_fail(ret_message, -EINVAL, "user: '%s' is not a valid user name", ret_user);
    if (!json_is_integer(uid) || json_integer_value(uid) < 0 || json_integer_value(uid) >= UINT32_MAX)
        return nm_fail(ret_message, -EINVAL, "uid: must be the uid of the user who owns the files");
    *ret_uid = (uid_t)json_integer_value(uid);
    return 0;
}

int nm_shuffle_command_bytes(const char *hexadecimal, uint8_t *ret, size_t size, size_t *ret_size)
{
    struct base16_decode_ctx context;
    size_t n = strlen(hexadecimal);

    if (n % 2 != 0 || n / 2 > size || strspn(hexadecimal, "0123456789abcdefABCDEF") != n)
        return -EINVAL;
    base16_decode_init(&context);
    if (!base16_decode_update(&context, &size, ret, n, hexadecimal) || !base16_decode_final(&context))
        return -EINVAL;
    *ret_size = size;
    return 0;
}

static char *reply_error(const char *message)
{
    json_t *o = json_pack("{s:s}", "error", message);
    char *text = nm_json_text(o, 0);

    json_decref(o);
    return text;
}

/* Executes a command. *ret_reply stays NULL if the answer is {"ok": {}}. */
static int execute(const struct nm_shuffle_commands *commands, void *userdata, const json_t *command, char **ret_reply,
                   char **ret_message)
{
    const json_t *what;

    if ((what = json_object_get(command, "add")))
        return commands->add(userdata, what, ret_message);
    if ((what = json_object_get(command, "remove")))
        return commands->remove(userdata, what, ret_reply, ret_message);
    if (!json_object_get(command, "count"))
        return nm_fail(ret_message, -EINVAL, "the command must have one of add, remove and count");
    *ret_reply = commands->count(userdata);
    return *ret_reply ? 0 : -ENOMEM;
}

void nm_shuffle_command(const struct nm_shuffle_commands *commands, void *userdata, const char *line, size_t size,
                        char **ret_reply)
{
    _cleanup_free_ char *message = NULL;
    json_error_t error;
    json_t *o = json_loadb(line, size, JSON_REJECT_DUPLICATES, &error);
    int r;

    *ret_reply = NULL;
    if (o)
        r = execute(commands, userdata, o, ret_reply, &message);
    else
        r = nm_fail(&message, -EINVAL, "the command is not JSON: %s", error.text);
    json_decref(o);
    if (r < 0)
        *ret_reply = reply_error(message ? message : strerror(-r));
    else if (!*ret_reply)
        *ret_reply = strdup("{\"ok\": {}}");
}

/* Answers each line, so that the caller knows that a key is stored before a client needs it. */
int nm_shuffle_commands_run(const struct nm_shuffle_commands *commands, void *userdata, FILE *in, FILE *out)
{
    char line[NM_SHUFFLE_LINE_MAX];

    /* A longer line is read in pieces, each of which is answered as an invalid line. */
    while (fgets(line, sizeof line, in)) {
        _cleanup_free_ char *reply = NULL;

        nm_shuffle_command(commands, userdata, line, strlen(line), &reply);
        explicit_bzero(line, sizeof line); /* the line may have contained a key */
        if (fprintf(out, "%s\n", reply ? reply : "{\"error\": \"no memory\"}") < 0 || fflush(out) != 0)
            return -errno;
    }
    return 0;
}
