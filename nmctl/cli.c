/* SPDX-License-Identifier: Apache-2.0 */

/*
 * From the command line to a verb. Everything that can be wrong with the words themselves is found
 * here, before a connection is made: a mistyped command changes nothing, and is told with status 2
 * whether nmd runs or not. What depends on nmd's state is nmd's to say.
 */

#include "nmctl/cli.h"

#include "nmctl/help.h"
#include "nmctl/nmctl.h"
#include "nmctl/option.h"
#include "nmctl/message.h"
#include "util/error.h"

#define SYSTEM_SOCKET "/run/nmd/nmd.sock"

/* --socket, NMD_SOCKET, the system's nmd; for a user without that one, the nmd of the user's own
 * session. */
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

/* How many there may be. An empty word is almost always a variable that was not set: kill "$id"
 * must not go out. */
static int check_operands(const struct nm_ctl *ctl)
{
    const struct nm_verb *v = ctl->verb;

    if (ctl->n_operands < v->min_operands) {
        nm_message("%s: %s", v->name, v->missing);
        return -EINVAL;
    }
    if (ctl->n_operands > v->max_operands) {
        nm_message("%s: '%s' is one argument too many; see 'nmctl %s --help'", v->name,
                   ctl->operands[v->max_operands], v->name);
        return -EINVAL;
    }
    for (unsigned i = 0; i < ctl->n_operands && v->min_operands > 0; i++)
        if (!*ctl->operands[i] && (!v->stops_at_operand || i == 0)) {
            nm_message("%s: '' is an empty argument; %s", v->name, v->missing);
            return -EINVAL;
        }
    return 0;
}

/* The verb is the first word that is no option; what follows it is parsed with the verb's own
 * options. */
static int parse(struct nm_ctl *ctl, int argc, char **argv)
{
    int first = nm_option_parse(&ctl->args, NULL, true, argc, argv), operands;

    if (first < 0)
        return first;
    if (ctl->args.help || ctl->args.version)
        return 0;
    if (first >= argc) {
        nm_message("which verb? 'nmctl --help' lists them");
        return -EINVAL;
    }
    ctl->verb = nm_verb_find(argv[first]);
    if (!ctl->verb) {
        (void)nm_help_unknown_verb(argv[first]);
        return -EINVAL;
    }
    argc -= first;
    argv += first;
    operands = nm_option_parse(&ctl->args, ctl->verb, ctl->verb->stops_at_operand, argc, argv);
    if (operands < 0)
        return operands;
    ctl->operands = argv + operands;
    ctl->n_operands = (unsigned)(argc - operands);
    return ctl->args.help ? 0 : check_operands(ctl);
}

/* What was printed is only done when it has arrived; a verb's own failure stays the one that is
 * told. */
static int finish(int status)
{
    /* A full disk under "nmctl list > file" is a failure. */
    if (fflush(stdout) == EOF || ferror(stdout)) {
        nm_message("can't write to stdout: %s", strerror(errno));
        return status == NM_CTL_OK ? NM_CTL_FAILED : status;
    }
    return status;
}

/* --help and --version win over whatever else was said. */
static int run(struct nm_ctl *ctl)
{
    if (ctl->args.version)
        printf("nmctl %s\n", NM_VERSION);
    else if (!ctl->args.help)
        return ctl->verb->run(ctl);
    else if (ctl->verb)
        nm_help_verb_usage(ctl->verb);
    else
        nm_help_all();
    return NM_CTL_OK;
}

/* The socket is chosen after the parsing, for --socket may stand on either side of the verb. */
int nm_cli_run(int argc, char **argv)
{
    struct nm_ctl ctl = {0};
    int status = NM_CTL_USAGE;

    nm_args_init(&ctl.args);
    if (parse(&ctl, argc, argv) == 0) {
        choose_socket(&ctl);
        status = finish(run(&ctl));
    }
    nm_args_done(&ctl.args);
    return status;
}
