/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `nmctl run`. The time until the command's first instruction is short: nmctl makes one call, and follows the logs only
 * after nmd has answered. Signals are blocked (signalfd) before the call. Otherwise Ctrl-C could end nmctl while nmd
 * creates the container, and the container would run without the user's knowledge.
 */

#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "nmctl/api.h"
#include "nmctl/attach.h"
#include "nmctl/container-json.h"
#include "nmctl/json.h"
#include "nmctl/progress.h"
#include "nmctl/nmctl.h"
#include "nmctl/message.h"
#include "nmctl/session.h"
#include "util/error.h"
#include "util/frame.h"

#define REPLACE_MESSAGE_MSEC 1000 /* time after which a message reports that the container to be replaced hasn't ended
                                     */
#define SIGNALLED_TIMEOUT_MSEC                                                                     \
    5000 /* after a Ctrl-C, maximum time to wait for the answer with the id of the container to kill */

/* Checks combinations of options, which the table of options can't express. */
static int check(const struct nm_args *a)
{
    if (a->guaranteed && a->opportunistic) {
        nm_message("run: --guaranteed and --opportunistic can't be combined");
        return -EINVAL;
    }
    if (a->replace && !a->name) {
        nm_message("run: --replace needs --name");
        return -EINVAL;
    }
    if (a->wait && a->detach) {
        nm_message("run: --wait and --detach can't be combined");
        return -EINVAL;
    }
    if (a->interactive && a->detach) {
        nm_message("run: --interactive and --detach can't be combined: nmctl exits and can't pass on input");
        return -EINVAL;
    }
    if (a->tty && a->detach) {
        nm_message("run: --tty and --detach can't be combined: nmctl exits and can't connect a terminal");
        return -EINVAL;
    }
    if (a->tty && !isatty(STDIN_FILENO)) {
        nm_message("run: --tty needs a terminal as standard input; use --interactive alone to pass on piped input");
        return -EINVAL;
    }
    if (a->json && !a->detach) {
        nm_message("run: --json needs --detach: without it, stdout has the output of the command");
        return -EINVAL;
    }
    return 0;
}

#define LETTERS "(-d is the working directory, -D is --detach, -w is --wait)"

static bool path_exists(const char *path, bool *ret_directory)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return false;
    *ret_directory = S_ISDIR(st.st_mode);
    return true;
}

/* Detects two short options that have another meaning in docker. A command line written for docker would otherwise run
 * an unintended command. */
static int check_letters(const struct nm_ctl *ctl)
{
    const char *workdir = ctl->args.workdir, *command = ctl->operands[0];
    bool directory;

    if (ctl->args.wait && command[0] == '/' && path_exists(command, &directory) && directory) {
        nm_message("run: %s is a directory, not a command " LETTERS, command);
        return -EINVAL;
    }
    if (workdir && path_exists(workdir, &directory) && !directory) {
        nm_message("run: --workdir '%s': %s " LETTERS, workdir, strerror(ENOTDIR));
        return -EINVAL;
    }
    return 0;
}

/* Returns the working directory, or NULL after printing the error. Makes a relative path absolute, because nmd has
 * another working directory. */
static const char *absolute(const char *workdir, char path[PATH_MAX])
{
    if (workdir[0] == '/')
        return workdir;
    if (!realpath(workdir, path)) {
        nm_message("run: --workdir '%s': %s " LETTERS, workdir, strerror(errno));
        return NULL;
    }
    return path;
}

/* Returns the user to run as. nmd runs a container as root only if the request names root. If root runs nmctl, nmctl
 * therefore sends root's name. */
static const char *user_of(const struct nm_args *a)
{
    const struct passwd *account;

    if (a->user || geteuid() != 0)
        return a->user;
    account = getpwuid(0);
    return account ? account->pw_name : "0";
}

/* Returns the request as text, or NULL after printing the error. */
static char *make_request(const struct nm_ctl *ctl)
{
    const struct nm_args *a = &ctl->args;
    struct nm_client_submit s = {
        .command = nm_session_command(a, ctl->operands),
        .opportunistic = a->opportunistic,
        .replace = a->replace,
        .exempt = a->exempt,
        .allow_new_privs = a->allow_new_privs,
        .memory_bytes = a->memory_bytes,
        .vcores_milli = a->vcores_milli,
        .min_runtime_usec = a->min_runtime_usec,
        .expected_usec = a->expected_usec,
        .name = a->name,
        .app = a->app,
        .user = user_of(a),
    };
    struct nm_client_bad_string bad = {};
    char path[PATH_MAX], *text = NULL;
    int r;

    if (a->workdir && !(s.workdir = absolute(a->workdir, path)))
        return NULL;
    r = nm_client_submit_body(&s, &text, &bad);
    if (r < 0)
        nm_session_report_unsendable("run", r, &bad);
    return text;
}

/* Returns the time limit for the answer. With --replace, this limit includes the grace period of the old container, and
 * more time if the old container's end is delayed. */
static int patience_msec(const struct nm_args *a, bool signalled, bool reported)
{
    if (signalled)
        return SIGNALLED_TIMEOUT_MSEC;
    if (!a->replace)
        return (int)(NM_API_TIMEOUT_USEC / 1000);
    return reported ? -1 : REPLACE_MESSAGE_MSEC;
}

/* Waits for the answer of a call. Returns the results of nm_client_process(). Also returns -EINTR after a second
 * signal, or if the answer doesn't arrive in time after the first signal, and -ETIMEDOUT. *ret_signal: a signal that
 * was received during the wait, or 0. */
static int await(struct nm_ctl *ctl, struct nm_client *call, int signal_fd, int *ret_signal)
{
    bool reported = false;
    int r = 0;

    while (r == 0) {
        struct pollfd p[2] = {{nm_client_fd(call), nm_client_events(call), 0},
                              {signal_fd, POLLIN, 0}};
        struct signalfd_siginfo info;
        int n = poll(p, 2, patience_msec(&ctl->args, *ret_signal, reported));

        if (n == 0 && ctl->args.replace && !*ret_signal) {
            nm_message("waiting for the end of the container with the name %s", ctl->args.name);
            reported = true;
            continue;
        }
        if (n == 0)
            return *ret_signal ? -EINTR : -ETIMEDOUT;
        if (p[1].revents && read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
            if (*ret_signal)
                return -EINTR;
            *ret_signal = (int)info.ssi_signo;
        }
        if (p[0].revents)
            r = nm_client_process(call);
    }
    return r;
}

/* Keeps the upgraded connection. The answer contains only the container's location. */
static int keep_connection(struct nm_ctl *ctl, struct nm_client *call, struct nm_client_answer *ret, int *ret_fd)
{
    char location[NM_CLIENT_LOCATION_SIZE];
    const struct nm_client_request q = {ctl->socket_path, "GET", location, NULL};
    _cleanup_close_ int fd = nm_client_switched(call, location);
    int r = nm_client_fetch(&q, NM_API_TIMEOUT_USEC, ret);

    if (r >= 0)
        *ret_fd = STEAL_FD(fd);
    return r;
}

/* Sends the request. *ret_fd: the connection for the container's input or terminal, if it was requested and accepted.
 * See await() for *ret_signal and the return value. */
static int submit(struct nm_ctl *ctl, const char *text, int signal_fd, struct nm_client_answer *ret, int *ret_fd,
                  int *ret_signal)
{
    const struct nm_client_request q = {ctl->socket_path, "POST", "/v1/containers", text};
    _cleanup_(nm_client_freep) struct nm_client *call = NULL;
    int r = ctl->args.interactive || ctl->args.tty
                ? nm_client_new_upgrade(&q, NM_FRAME_PROTOCOL, nm_client_answer_gather, ret, &call)
                : nm_client_new(&q, nm_client_answer_gather, ret, &call);

    if (r == 0)
        r = await(ctl, call, signal_fd, ret_signal);
    if (r == NM_CLIENT_E_SWITCHED)
        return keep_connection(ctl, call, ret, ret_fd);
    if (r < 0)
        return r;
    ret->status = nm_client_status(call);
    return nm_client_answer_gather("", 0, ret);
}

/* Returns the exit status. If a signal to nmctl ended the container before its command ran, returns the exit status for
 * that signal. */
static int exit_status(const json_t *c, int signal)
{
    return signal && !nm_json_has(c, "exit_code") ? 128 + signal : nm_container_exit_status(c);
}

/* Prints a hint for a frequent mistake: a path of the command that is relative to nmctl's current directory. */
static void hint(const struct nm_ctl *ctl, const json_t *c)
{
    const char *command = ctl->operands[0];

    if (nm_streq(nm_json_str(c, "exit_reason"), "command-not-found") && command[0] != '/' &&
        strchr(command, '/') && !ctl->args.workdir)
        nm_message("'%s' is relative to the container's working directory; use '-d .' to run in the current one",
                   command);
}

/* Connects the terminal to the command, until the command ends or a signal is received. Closing the connection then
 * hangs up the terminal, and only the container's end still has to be awaited. */
static void use_terminal(const struct nm_ctl *ctl, int fd, struct nm_attach_params *p)
{
    const struct nm_session_params session = {
        .fd = fd, .input = ctl->args.interactive, .terminal = true, .leaves = true};
    struct nm_frame_end end;

    (void)nm_session_run(&session, &end, &p->signal);
    p->until_fd = 0;
    p->show_progress = false;
}

/* Follows the container to its end, also across restarts of nmd. terminal_fd: connection of the container's terminal,
 * which is taken over; negative: the container has no terminal. */
static int wait_for(struct nm_ctl *ctl, const json_t *container, int signal_fd, int signal, int terminal_fd)
{
    _cleanup_close_ int fd = terminal_fd;
    struct nm_attach_params p = {.id = nm_json_str(container, "id"),
                                 .want_stdout = fd < 0,
                                 .want_stderr = fd < 0,
                                 .want_end = true,
                                 .follow = true,
                                 .tail = NM_CTL_UNSET,
                                 .show_progress = true,
                                 .signal_fd = signal_fd,
                                 .signal = signal,
                                 .until_fd = fd < 0 ? 0 : fd};
    struct nm_attach_result result;
    _cleanup_json_ json_t *ended = NULL;
    int status = nm_attach_run(ctl, &p, &result);

    if (result.until) {
        signal = result.signal;
        p.signal = 0;
        use_terminal(ctl, fd, &p);
        fd = nm_close(fd);
        status = nm_attach_run(ctl, &p, &result);
    }
    ended = result.container;
    if (!ended)
        return status;
    nm_progress_end(ended);
    hint(ctl, ended);
    return exit_status(ended, result.signal ?: signal);
}

/* Runs the container. After nm_signals_block(), submit() and nm_attach_run() handle signals. With --detach, a signal
 * received before the answer makes nmctl follow the container and kill it, because the user pressed Ctrl-C to cancel
 * the run. */
int nm_run_verb(struct nm_ctl *ctl)
{
    _cleanup_(nm_client_answer_done) struct nm_client_answer answer = {0};
    _cleanup_free_ char *text = NULL;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    _cleanup_close_ int signal_fd = -EBADF, input_fd = -EBADF;
    _cleanup_json_ json_t *container = NULL;
    int r, signal = 0;
    pid_t input;

    if (check(&ctl->args) < 0 || check_letters(ctl) < 0)
        return NM_CTL_USAGE;
    text = make_request(ctl);
    if (!text)
        return NM_CTL_USAGE;
    signal_fd = nm_signals_block(signals, NM_ARRAY_SIZE(signals));
    r = signal_fd < 0 ? signal_fd : 0;
    if (r == 0)
        r = submit(ctl, text, signal_fd, &answer, &input_fd, &signal);
    if (r == -EINTR) {
        nm_message("interrupted before nmd answered; the container may have been submitted, see 'nmctl list'");
        return 128 + signal;
    }
    if (r < 0)
        return nm_api_report_unreachable(ctl, r);
    if (answer.status >= 300) {
        (void)nm_api_report_refused(ctl, &answer);
        return NM_CTL_NOT_RUN;
    }
    r = nm_api_parse(ctl, &answer, &container);
    if (r != NM_CTL_OK)
        return r;
    if (ctl->args.tty) {
        (void)nm_session_greet(input_fd); /* if the connection is closed, a later read from it reports the error */
        return wait_for(ctl, container, signal_fd, signal, STEAL_FD(input_fd));
    }
    if (!ctl->args.detach || signal) {
        input = input_fd >= 0 ? nm_input_start(input_fd) : 0;
        input_fd = nm_close(input_fd); /* the input ends with the child process */
        r = wait_for(ctl, container, signal_fd, signal, -EBADF);
        nm_input_stop(input);
        return r;
    }
    if (ctl->args.json)
        nm_api_print_json(container, false);
    else
        printf("%s\n", nm_json_str(container, "id"));
    return NM_CTL_OK;
}
