/* SPDX-License-Identifier: Apache-2.0 */

/* `nmctl exec`: runs another command in a running container. */

#include <jansson.h>
#include <signal.h>

#include "nmctl/api.h"
#include "nmctl/json.h"
#include "nmctl/nmctl.h"
#include "nmctl/message.h"
#include "nmctl/session.h"
#include "util/error.h"

enum { NOT_FOUND = 127, NOT_EXECUTABLE = 126 }; /* exit statuses as in shells */

/* Returns the command. In "nmctl exec web -- ls" the two dashes may be before or after the container. */
static char **command_of(const struct nm_ctl *ctl)
{
    char **command = ctl->operands + 1;

    if (nm_streq(*command, "--"))
        command++;
    return command < ctl->operands + ctl->n_operands ? command : NULL;
}

/* Returns the request as text, or NULL after printing the error. */
static char *make_request(const struct nm_ctl *ctl, char **command)
{
    const struct nm_client_exec e = {.command = nm_session_command(&ctl->args, command),
                                     .input = ctl->args.interactive};
    struct nm_client_bad_string bad = {};
    char *text = NULL;
    int r = nm_client_exec_body(&e, &text, &bad);

    if (r < 0)
        nm_session_report_unsendable("exec", r, &bad);
    return text;
}

/* Prints at which stage of a launch (nmd's enum nm_launch_stage) the command failed. A newer nmd may have more
 * stages. */
static int print_failed(const char *id, const char *command, const struct nm_frame_end *e)
{
    static const char *const stages[] = {NULL,
                                         "its process could not be set up",
                                         "its pipes or its terminal could not be made",
                                         "can't switch to the container's user",
                                         "can't enter the container's working directory",
                                         "can't enter the container's namespaces"};
    enum { EXEC = 6 };
    const char *error = strerror(e->error);

    if (e->stage == EXEC && (e->error == ENOENT || e->error == ENOTDIR)) {
        nm_message("command not found: %s", command);
        return NOT_FOUND;
    }
    if (e->stage == EXEC) {
        nm_message("permission denied or not executable: %s (%s)", command, error);
        return NOT_EXECUTABLE;
    }
    nm_message("%s could not be run in %s: %s: %s", command, id,
               e->stage < NM_ARRAY_SIZE(stages) ? stages[e->stage] : "it could not be started", error);
    return NM_CTL_NOT_RUN;
}

/* Reports a session that ended without an END frame. In this case the shim was killed, usually together with the whole
 * container. */
static int print_lost(struct nm_ctl *ctl, const char *id)
{
    _cleanup_json_ json_t *c = NULL;
    char target[128];

    (void)snprintf(target, sizeof target, "/v1/containers/%s", id);
    if (nm_api_try_get(ctl, target, NM_API_TIMEOUT_USEC, &c) == 0 &&
        (nm_streq(nm_json_str(c, "state"), "COMPLETED") || nm_streq(nm_json_str(c, "state"), "KILLING")))
        nm_message("%s has ended or is being killed, and the command with it", id);
    else
        nm_message("the command and its parent process in %s were killed", id);
    return 128 + SIGKILL;
}

static int run(struct nm_ctl *ctl, int fd, const char *command)
{
    const struct nm_session_params p = {.fd = fd, .input = ctl->args.interactive, .terminal = ctl->args.tty};
    const char *id = ctl->operands[0];
    struct nm_frame_end end;
    int signal, r = nm_session_run(&p, &end, &signal);

    if (r == -EINTR) {
        nm_message("exiting; the command receives SIGHUP and is killed 5 s later");
        return 128 + signal;
    }
    if (r == -ECONNRESET || r == -EPIPE)
        return print_lost(ctl, id);
    if (r < 0)
        return nm_api_report_unreachable(ctl, r);
    if (end.stage != 0)
        return print_failed(id, command, &end);
    return end.signal > 0 ? 128 + end.signal : end.code;
}

int nm_exec_verb(struct nm_ctl *ctl)
{
    _cleanup_(nm_client_answer_done) struct nm_client_answer answer = {0};
    _cleanup_free_ char *text = NULL;
    _cleanup_close_ int fd = -EBADF;
    char target[128], **command = command_of(ctl);
    struct nm_client_request q = {ctl->socket_path, "POST", target, NULL};
    int r;

    if (!command) {
        nm_message("exec: %s", ctl->verb->missing);
        return NM_CTL_USAGE;
    }
    if (ctl->args.tty && ctl->args.interactive && !isatty(STDIN_FILENO)) {
        nm_message("exec: --tty with --interactive needs a terminal as standard input");
        return NM_CTL_USAGE;
    }
    r = nm_api_container_target(ctl->operands[0], "/exec", target, sizeof target);
    if (r != NM_CTL_OK)
        return r;
    text = make_request(ctl, command);
    if (!text)
        return NM_CTL_USAGE;
    q.body = text;
    r = nm_client_upgrade(&q, NM_FRAME_PROTOCOL, NM_API_TIMEOUT_USEC, &fd, &answer);
    if (r == NM_CLIENT_E_REFUSED) {
        (void)nm_api_report_refused(ctl, &answer);
        return NM_CTL_NOT_RUN;
    }
    return r < 0 ? nm_api_report_unreachable(ctl, r) : run(ctl, fd, command[0]);
}
