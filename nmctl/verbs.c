/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The tables of verbs, options and help, which define what nmctl can do. Parsing, --help, suggestions and completion
 * use these tables. packaging/nmctl.1 describes the same in more detail.
 */

#include "nmctl/cli.h"

#define AT(member) offsetof(struct nm_args, member)
/* Macros for options without completion. In the tables, options with completion are written without a macro. */
#define FLAG(brief, name, member, help)                                                            \
    {                                                                                              \
        brief, name, NULL, &nm_option_flag, AT(member), help, NM_COMPLETE_NOTHING                   \
    }
#define VALUE(brief, name, arg, type, member, help)                                                \
    {                                                                                              \
        brief, name, arg, type, AT(member), help, NM_COMPLETE_NOTHING                              \
    }
#define JSON FLAG('\0', "json", json, "print the JSON that nmd sends")
#define INTERVAL                                                                                   \
    VALUE('i', "interval", "TIME", &nm_args_interval, interval_usec,                              \
          "refresh interval (default 1s)")
#define MEMORY                                                                                     \
    VALUE('m', "memory", "SIZE", &nm_args_size, memory_bytes, "memory, such as 512M or 1.5G")
#define VCORES                                                                                     \
    VALUE('c', "vcores", "N", &nm_args_vcores, vcores_milli, "CPU in vcores, such as 2 or 0.5")
#define INTERACTIVE                                                                                \
    FLAG('i', "interactive", interactive, "pass nmctl's standard input to the command")
#define TTY FLAG('t', "tty", tty, "give the command a terminal")
#define END {0}

/* Options of all verbs. They may precede or follow the verb. */
static const struct nm_option global_options[] = {
    {'\0', "socket", "PATH", &nm_args_text, AT(socket),
     "nmd's socket (default: $NMD_SOCKET, else /run/nmd/nmd.sock)", NM_COMPLETE_FILE},
    VALUE('\0', "retry", "TIME", &nm_args_duration, retry_usec,
          "if nmd is not running, try again for this long (default: 0s)"),
    FLAG('\0', "no-color", no_color, "print no colours, as with NO_COLOR in the environment"),
    FLAG('h', "help", help, "show this help"),
    FLAG('\0', "version", version, "show the version of nmctl"),
    END,
};

static const struct nm_option run_options[] = {
    FLAG('\0', "guaranteed", guaranteed, "start at once and keep the requested resources (default)"),
    FLAG('\0', "opportunistic", opportunistic,
         "run on unused resources; may be paused or killed"),
    MEMORY,
    VCORES,
    VALUE('\0', "name", "NAME", &nm_args_name, name, "a name that can be used instead of the id"),
    FLAG('\0', "replace", replace, "end the live container with this name, if there is one, and take over the name"),
    VALUE('\0', "app", "APP", &nm_args_name, app, "the container's application"),
    VALUE('e', "env", "K[=V]", &nm_args_env, env,
          "environment variable; without =V: its value in nmctl's environment"),
    {'d', "workdir", "DIR", &nm_args_text, AT(workdir),
     "working directory (default: the user's home)", NM_COMPLETE_DIRECTORY},
    {'u', "user", "USER", &nm_args_text, AT(user), "run as this user (default: you, also if you are root)",
     NM_COMPLETE_USER},
    VALUE('\0', "min-runtime", "TIME", &nm_args_duration, min_runtime_usec,
          "until it has run this long, preempt other containers first"),
    VALUE('\0', "expect", "TIME", &nm_args_duration, expected_usec,
          "expected run time, for a queue that is ordered by it"),
    FLAG('\0', "exempt", exempt, "application master: never preempted (administrators only)"),
    FLAG('\0', "allow-new-privs", allow_new_privs,
         "allow setuid programs to gain privileges (administrators only)"),
    INTERACTIVE,
    TTY,
    FLAG('w', "wait", wait, "print the command's output and return its exit status (default)"),
    FLAG('D', "detach", detach, "print the container's id and return immediately"),
    FLAG('\0', "json", json, "with --detach: print the container as JSON"),
    END,
};

static const struct nm_option exec_options[] = {
    INTERACTIVE,
    TTY,
    VALUE('e', "env", "K[=V]", &nm_args_env, env,
          "environment variable, added to the container's; without =V: its value in nmctl's environment"),
    END,
};

static const struct nm_option status_options[] = {
    FLAG('w', "watch", watch, "redraw until q or Ctrl-C"), INTERVAL, JSON, END};
static const struct nm_option list_options[] = {
    FLAG('a', "all", all, "also ended containers (kept for an hour by default)"),
    FLAG('q', "quiet", quiet, "only ids, one per line"),
    VALUE('\0', "app", "APP", &nm_args_name, app, "only containers of this application"),
    {'\0', "state", "STATE", &nm_args_state, AT(state), "only containers in this state, such as running",
     NM_COMPLETE_STATE},
    JSON, END};
static const struct nm_option json_options[] = {JSON, END};
static const struct nm_option top_options[] = {
    {'s', "sort", "KEY", &nm_args_sort, AT(sort), "cpu (default), memory, time, age or name", NM_COMPLETE_SORT},
    FLAG('r', "reverse", reverse, "reverse the order"),
    VALUE('f', "filter", "WORDS", &nm_args_text, filter,
          "only containers with these words in their name, user, type, state, command, ...; !WORD: without WORD"),
    VALUE('\0', "app", "APP", &nm_args_name, app, "only containers of this application"),
    {'\0', "state", "STATE", &nm_args_state, AT(state), "only containers in this state, such as running",
     NM_COMPLETE_STATE},
    INTERVAL, JSON, END};
static const struct nm_option logs_options[] = {
    FLAG('f', "follow", follow, "continue until the container has ended"),
    FLAG('\0', "stdout", only_stdout, "only what the container wrote to stdout"),
    FLAG('\0', "stderr", only_stderr, "only what the container wrote to stderr"),
    VALUE('n', "tail", "N", &nm_args_count, tail, "only the last N lines"),
    VALUE('\0', "since", "TIME", &nm_args_duration, since_usec,
          "only output of the last TIME, such as 10min"),
    FLAG('t', "timestamps", timestamps, "print the time of each line before it"), END};
static const struct nm_option events_options[] = {
    FLAG('f', "follow", follow, "continue with new events"),
    VALUE('\0', "after", "N", &nm_args_count, after, "only events with a number above N"),
    VALUE('n', "last", "N", &nm_args_last, last, "only the newest N past events"),
    VALUE('\0', "since", "TIME", &nm_args_duration, since_usec,
          "only past events of the last TIME, such as 10min"),
    FLAG('\0', "json", json, "print one JSON object per line, as nmd sends it"), END};
static const struct nm_option explain_options[] = {
    VALUE('n', "last", "N", &nm_args_last, last,
          "the newest N decisions (default: 5; for a container: all)"),
    JSON, END};
static const struct nm_option kill_options[] = {
    FLAG('\0', "now", now, "SIGKILL at once, instead of SIGTERM and a grace period"),
    FLAG('w', "wait", wait, "return when the containers have ended"), JSON, END};
static const struct nm_option remove_options[] = {
    FLAG('f', "force", force, "immediately kill containers that have not ended"), JSON, END};
static const struct nm_option wait_options[] = {
    VALUE('t', "timeout", "TIME", &nm_args_duration, timeout_usec,
          "stop waiting after this time, with status 124 (default: never)"), JSON, END};
static const struct nm_option update_options[] = {MEMORY, VCORES, JSON, END};
static const struct nm_option drain_options[] = {
    VALUE('\0', "deadline", "TIME", &nm_args_duration, deadline_usec,
          "kill the remaining containers after this time (default: never)"),
    FLAG('\0', "kill-opportunistic", kill_opportunistic, "kill opportunistic containers at once"),
    FLAG('\0', "until-restart", until_restart, "the drain ends when nmd is stopped (default: with 'nmctl undrain')"),
    FLAG('\0', "dry-run", dry_run, "only show which waiting containers would be discarded"),
    FLAG('w', "wait", wait, "return when the node is empty"), JSON, END};
static const struct nm_option config_options[] = {
    FLAG('\0', "changed", changed, "only keys that differ from the default"),
    FLAG('\0', "reload", reload, "make nmd read its configuration files again"), JSON, END};

/* Error message of verbs that need a container. */
#define A_CONTAINER "name a container by its id or name; 'nmctl list' shows them"

/* Verbs in the order of --help: run commands, inspect containers, control containers, manage the whole node. */
static const struct nm_verb verbs[] = {
    {"run", NULL, "[--] COMMAND [ARG...]", "run a command in a container",
     "The command begins with the first word that is not an option, or after --. Unless --detach is given, nmctl "
     "prints the command's output, kills the container on Ctrl-C (a second Ctrl-C: at once), and returns the command's "
     "exit status: 128 + N if signal N ended the command, 125 if nmd refused the request. Without --memory and "
     "--vcores the container gets the defaults of nmd.conf (256M, 1 vcore).",
     run_options, 1, UINT32_MAX, "give a command, such as: nmctl run -m 512M -- make -j4", true,
     false, NM_COMPLETE_COMMAND, nm_run_verb},
    {"exec", NULL, "CONTAINER [--] COMMAND [ARG...]", "run another command in a container",
     "The command runs in the container's cgroup, with its user, working directory and environment. Its use counts as "
     "the container's, and the command is paused and killed with the container. nmctl returns its exit status, as "
     "'run' does. With a terminal: nmctl exec -it web bash",
     exec_options, 2, UINT32_MAX, "give a container and a command, such as: nmctl exec web -- ps aux", true, false,
     NM_COMPLETE_CONTAINER, nm_exec_verb},
    {"status", NULL, "", "the node: capacity, use, queue, preemptions", NULL, status_options, 0, 0, NULL,
     false, false, NM_COMPLETE_NOTHING, nm_status_verb},
    {"list", "ps ls", "", "containers", NULL, list_options, 0, 0, NULL, false, false, NM_COMPLETE_NOTHING,
     nm_list_verb},
    {"show", NULL, "CONTAINER...", "details of a container", NULL, json_options, 1, UINT32_MAX,
     A_CONTAINER, false, false, NM_COMPLETE_ANY_CONTAINER, nm_show_verb},
    {"inspect", NULL, "CONTAINER...", "details of a container, as JSON", NULL, NULL, 1, UINT32_MAX, A_CONTAINER, false,
     false, NM_COMPLETE_ANY_CONTAINER, nm_inspect_verb},
    {"wait", NULL, "CONTAINER...", "wait until containers have ended",
     "Prints how each container ended. While nmctl waits, it prints on stderr for which containers and why. Returns "
     "the exit status of the first container that failed, as 'nmctl run' does, 124 if --timeout has expired, or 0.",
     wait_options, 1, UINT32_MAX, A_CONTAINER, false, false, NM_COMPLETE_ANY_CONTAINER, nm_wait_verb},
    {"top", NULL, "", "live table of containers, sorted by use",
     "Keys: q quits; c, m, t, a and n sort by cpu, memory, time, age and name; r reverses the order; / filters; arrows "
     "and Page Down move; + and - draw more and less often; h shows them all.", top_options, 0, 0,
     NULL, false, false, NM_COMPLETE_NOTHING, nm_top_verb},
    {"logs", NULL, "CONTAINER", "output of a container", NULL, logs_options, 1, 1, A_CONTAINER, false,
     false, NM_COMPLETE_ANY_CONTAINER, nm_logs_verb},
    {"events", NULL, "[CONTAINER]", "events of the node or of a container", NULL, events_options, 0, 1, NULL, false,
     false, NM_COMPLETE_ANY_CONTAINER, nm_events_verb},
    {"explain", NULL, "[CONTAINER]", "why containers were admitted, queued, paused or killed, and how one ended", NULL,
     explain_options, 0, 1, NULL, false, false, NM_COMPLETE_ANY_CONTAINER, nm_explain_verb},
    {"pause", NULL, "CONTAINER...", "freeze containers", NULL, json_options, 1, UINT32_MAX, A_CONTAINER,
     false, false, NM_COMPLETE_CONTAINER, nm_act_verb},
    {"resume", NULL, "CONTAINER...", "thaw paused containers", NULL, json_options, 1, UINT32_MAX,
     A_CONTAINER, false, false, NM_COMPLETE_CONTAINER, nm_act_verb},
    {"kill", "stop", "CONTAINER...", "end containers", NULL, kill_options, 1, UINT32_MAX, A_CONTAINER,
     false, false, NM_COMPLETE_CONTAINER, nm_kill_verb},
    {"rm", "remove", "CONTAINER...", "remove ended containers and their logs", NULL, remove_options, 1, UINT32_MAX,
     A_CONTAINER, false, false, NM_COMPLETE_ANY_CONTAINER, nm_remove_verb},
    {"promote", NULL, "CONTAINER...", "make opportunistic containers guaranteed", NULL, json_options, 1,
     UINT32_MAX, A_CONTAINER, false, false, NM_COMPLETE_CONTAINER, nm_act_verb},
    {"demote", NULL, "CONTAINER...", "make guaranteed containers opportunistic", NULL, json_options, 1,
     UINT32_MAX, A_CONTAINER, false, false, NM_COMPLETE_CONTAINER, nm_act_verb},
    {"update", NULL, "CONTAINER", "change a container's memory or vcores", NULL, update_options, 1, 1,
     A_CONTAINER, false, false, NM_COMPLETE_CONTAINER, nm_update_verb},
    {"drain", NULL, "", "admit no more containers, and empty the node",
     "Without --deadline, running containers may run to their end. Waiting containers are discarded. Another drain "
     "changes the deadline.",
     drain_options, 0, 0, NULL, false, false, NM_COMPLETE_NOTHING, nm_drain_verb},
    {"undrain", NULL, "", "admit containers again", NULL, json_options, 0, 0, NULL, false, false,
     NM_COMPLETE_NOTHING, nm_undrain_verb},
    {"close-breaker", NULL, "", "close the breaker: admit opportunistic containers again",
     "After a kill because of missing memory or CPU, nmd starts no opportunistic containers for some time. This "
     "command ends that time.",
     json_options, 0, 0, NULL, false, false, NM_COMPLETE_NOTHING, nm_close_breaker_verb},
    {"config", NULL, "[WORD]", "the settings in force", "With WORD: only keys with WORD in their name.",
     config_options, 0, 1, NULL, false, false, NM_COMPLETE_KEY, nm_config_verb},
    {"version", NULL, "", "versions of nmctl and nmd", NULL, json_options, 0, 0, NULL, false, false,
     NM_COMPLETE_NOTHING, nm_version_verb},
    {"help", NULL, "[VERB]", "help for nmctl or for a verb", NULL, NULL, 0, 1, NULL, false, false,
     NM_COMPLETE_VERB, nm_help_verb},
    {"__complete", NULL, "[--] WORD...", "candidates for the last word (for shells)", NULL, NULL, 0,
     UINT32_MAX, NULL, true, true, NM_COMPLETE_NOTHING, nm_complete_verb},
    {0},
};

const struct nm_verb_tables nm_verb_tables = {verbs, global_options};
