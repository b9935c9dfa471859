/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parses the command line and runs a verb. All errors in the words themselves are found here, before a connection is
 * made. A mistyped command therefore has no effect and always exits with status 2, whether nmd runs or not. nmd checks
 * everything that depends on its state.
 */

#include "nmctl/cli.h"
#include "nmctl/message.h"
#include "nmctl/nmctl.h"
#include "rpc/local/client/client.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/parse.h"

#define SYSTEM_SOCKET "/run/nmd/nmd.sock"
#define RETRY_PERIOD_USEC (50 * NM_USEC_PER_MSEC)
#define RETRY_FIRST_MESSAGE_USEC (2 * NM_USEC_PER_SEC)
#define RETRY_MESSAGE_PERIOD_USEC (10 * NM_USEC_PER_SEC)

/* Chooses the socket: --socket, then NMD_SOCKET, then the system's nmd. For a user, if the system's nmd has no socket,
 * chooses the socket of the nmd in the user's session. */
static void choose_socket(struct nm_ctl *ctl)
{
    const char *env = getenv("NMD_SOCKET"), *session = getenv("XDG_RUNTIME_DIR");

    ctl->socket_path = ctl->args.socket ? ctl->args.socket : env && *env ? env : SYSTEM_SOCKET;
    if (ctl->args.socket || (env && *env) || geteuid() == 0 || !session ||
        access(SYSTEM_SOCKET, W_OK) == 0)
        return;
    if ((size_t)snprintf(ctl->socket_buf, sizeof ctl->socket_buf, "%s/nmd/nmd.sock", session) <
            sizeof ctl->socket_buf &&
        access(ctl->socket_buf, F_OK) == 0)
        ctl->socket_path = ctl->socket_buf;
}

/* Returns whether a process listens on the socket. Also returns true after an error that doesn't mean that nmd isn't
 * running, because the verb reports such an error. */
static bool is_listening(const struct nm_ctl *ctl, uint64_t timeout_usec)
{
    _cleanup_(nm_client_answer_done) struct nm_client_answer a = {0};
    const struct nm_client_request q = {ctl->socket_path, "GET", "/healthz", NULL};
    int r = nm_client_fetch(&q, timeout_usec, &a);

    return r != -ENOENT && r != -ECONNREFUSED && r != -ENOTDIR;
}

/* Waits for an nmd that has just been started, for at most the time of --retry. Chooses the socket again for each
 * attempt, because the choice depends on which sockets exist. Prints a message if the wait is long. */
static void await_nmd(struct nm_ctl *ctl)
{
    uint64_t begun = nm_now_usec(), deadline = nm_add_u64(begun, ctl->args.retry_usec), now;
    uint64_t message_usec = begun + RETRY_FIRST_MESSAGE_USEC;
    char limit[32];

    for (choose_socket(ctl); (now = nm_now_usec()) < deadline && !is_listening(ctl, deadline - now);
         choose_socket(ctl)) {
        if (now >= message_usec && !ctl->args.json) {
            nm_message("waiting for nmd at %s, for up to %s", ctl->socket_path,
                       nm_format_duration(ctl->args.retry_usec, limit, sizeof limit));
            message_usec = now + RETRY_MESSAGE_PERIOD_USEC;
        }
        (void)usleep(RETRY_PERIOD_USEC);
    }
}

/* Checks the number of operands. Refuses an empty operand, which usually is an unset variable in a script, as in: kill
 * "$id". */
static int check_operands(const struct nm_ctl *ctl)
{
    const struct nm_verb *v = ctl->verb;

    if (ctl->n_operands < v->min_operands) {
        nm_message("%s: %s", v->name, v->missing);
        return -EINVAL;
    }
    if (ctl->n_operands > v->max_operands) {
        nm_message("%s: unexpected argument '%s'; see 'nmctl %s --help'", v->name,
                   ctl->operands[v->max_operands], v->name);
        return -EINVAL;
    }
    for (unsigned i = 0; i < ctl->n_operands && v->min_operands > 0; i++)
        if (!*ctl->operands[i] && (!v->stops_at_operand || i == 0)) {
            nm_message("%s: an argument is empty; %s", v->name, v->missing);
            return -EINVAL;
        }
    return 0;
}

/* Parses the command line. The verb is the first word that isn't an option. The words after it are parsed with the
 * verb's options. */
static int parse(struct nm_ctl *ctl, int argc, char **argv)
{
    int first = nm_args_parse(ctl, true, argc, argv), operands;

    if (first < 0)
        return first;
    if (ctl->args.help || ctl->args.version)
        return 0;
    if (first >= argc) {
        nm_message("a verb is missing; 'nmctl --help' lists the verbs");
        return -EINVAL;
    }
    ctl->verb = nm_args_find_verb(ctl->tables, argv[first]);
    if (!ctl->verb) {
        (void)nm_help_unknown_verb(ctl->tables, argv[first]);
        return -EINVAL;
    }
    argc -= first;
    argv += first;
    operands = nm_args_parse(ctl, ctl->verb->stops_at_operand, argc, argv);
    if (operands < 0)
        return operands;
    ctl->operands = argv + operands;
    ctl->n_operands = (unsigned)(argc - operands);
    return ctl->args.help ? 0 : check_operands(ctl);
}

/* Flushes stdout and reports errors. If the verb itself has failed, returns the exit status of the verb. */
static int finish(int status)
{
    /* A full disk in "nmctl list > file", for instance, is a failure. */
    if (fflush(stdout) == EOF || ferror(stdout)) {
        nm_message("can't write to stdout: %s", strerror(errno));
        return status == NM_CTL_OK ? NM_CTL_FAILED : status;
    }
    return status;
}

/* Runs the verb. --help and --version have priority over all other options. */
static int run(struct nm_ctl *ctl)
{
    if (ctl->args.version)
        printf("nmctl %s\n", NM_VERSION);
    else if (!ctl->args.help)
        return ctl->verb->run(ctl);
    else if (ctl->verb)
        nm_help_verb_usage(ctl->tables, ctl->verb);
    else
        nm_help_all(ctl->tables);
    return NM_CTL_OK;
}

/* Parses the command line before it chooses the socket, because --socket may precede or follow the verb. */
int nm_cli_run(int argc, char **argv)
{
    struct nm_ctl ctl = {.tables = &nm_verb_tables};
    int status = NM_CTL_USAGE;

    nm_args_init(&ctl.args);
    if (parse(&ctl, argc, argv) == 0) {
        if (!ctl.args.help && !ctl.args.version)
            await_nmd(&ctl);
        status = finish(run(&ctl));
    }
    nm_args_done(&ctl.args);
    return status;
}
