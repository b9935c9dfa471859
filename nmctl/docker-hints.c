/* SPDX-License-Identifier: Apache-2.0 */

/* See cli.h. These tables are searched only for words that nmctl doesn't know, so that an entry can't hide an option or
 * verb that is added later. */

#include "nmctl/cli.h"

#include <string.h>

#include "util/macros.h"
#include "util/parse.h"

#define NO_MOUNTS "containers see this host's own files, so there is nothing to mount"
#define NO_PORTS "containers use this host's own network, so no ports have to be published"
#define NO_IMAGE "there are no images: the command is a program of this host"
#define NO_LABELS "use --app for the application and --name for the name of the container"
#define NO_RIGHTS "a container has only the rights of its user (-u)"
#define NO_RESTART "nmd does not restart containers; use 'nmctl run' as the command of a systemd service"
#define CHOOSE "use --app or --state, or filter the output of --json"
#define AS_JSON "use --json with jq or a similar tool"

static const struct {
    const char *verb, *words, *hint;
} options[] = {
    {"run", "-v --volume --mount --tmpfs", NO_MOUNTS},
    {"run", "-p -P --publish --publish-all --expose --net --network", NO_PORTS},
    {"run", "--rm", "not needed: nmd removes ended containers after keep-ended (nmd.conf, default 1h)"},
    {"run", "-l --label", NO_LABELS},
    {"run", "--cpus --cpu-shares --cpu-quota --cpuset-cpus", "use -c, --vcores to request CPU"},
    {"run", "--memory-swap --memory-reservation", "use -m, --memory to request memory"},
    {"run", "--privileged --cap-add --security-opt --group-add", NO_RIGHTS},
    {"run", "--restart", NO_RESTART},
    {"run", "--entrypoint --pull --platform", NO_IMAGE},
    {"run", "--env-file", "use -e, --env once for each variable"},
    {"run", "--stop-timeout", "the grace period is kill-grace in nmd.conf"},
    {"list", "-f --filter", CHOOSE},
    {"list", "--format", AS_JSON},
    {"list", "-n --last -l --latest", "the list is in the order of arrival; use 'nmctl list --all | tail'"},
    {"list", "--no-trunc", "use a pipe, a wider terminal or 'nmctl show' for the full text"},
    {"inspect", "-f --format", "the output is JSON; use jq or a similar tool"},
    {"kill", "-s --signal", "kill sends SIGTERM, then SIGKILL after the grace period; --now sends SIGKILL at once"},
    {"kill", "-t --time --timeout", "the grace period is kill-grace in nmd.conf; --now omits it"},
    {"logs", "--until", "use --since or --tail"},
    {"events", "--until --filter", "use --since, --last, or the name or id of a container"},
    {"events", "--format", AS_JSON},
    {"top", "--no-stream", "use 'nmctl top | cat' to print the table once"},
};

static const struct {
    const char *words, *hint;
} verbs[] = {
    {"stats", "'nmctl top' shows what containers use"},
    {"describe", "'nmctl show' shows the details of a container, 'nmctl explain' the reasons for its state"},
    {"get", "'nmctl list' shows containers, 'nmctl show' one of them, 'nmctl status' the node"},
    {"journal history", "'nmctl events' shows what happened, 'nmctl explain' why, 'nmctl logs' what a container wrote"},
    {"info node nodes health df", "'nmctl status' shows the node"},
    {"unpause thaw unfreeze continue", "'nmctl resume' thaws a paused container"},
    {"freeze suspend hold", "'nmctl pause' freezes a container"},
    {"delete del destroy cancel terminate", "'nmctl kill' ends a container, 'nmctl rm' removes one that has ended"},
    {"submit apply spawn launch", "'nmctl run' runs a command in a container"},
    {"sh shell bash ssh enter", "'nmctl exec -it CONTAINER bash' starts a shell in a container"},
    {"edit set scale resize patch", "'nmctl update' changes the memory or vcores of a container"},
    {"cordon", "'nmctl drain' makes the node admit no more containers"},
    {"uncordon", "'nmctl undrain' makes the node admit containers again"},
    {"queue jobs", "'nmctl list --state queued' shows waiting containers, 'nmctl explain' the reasons"},
    {"why", "'nmctl explain' shows why a container waits, was paused or was killed"},
    {"tail follow", "'nmctl logs --follow' shows what a container writes"},
    {"watch monitor", "'nmctl top' shows containers, 'nmctl status --watch' the node"},
    {"reload", "'nmctl config --reload' makes nmd read its configuration again"},
    {"settings conf", "'nmctl config' shows the settings in force"},
    {"attach", "'nmctl logs --follow' shows a container's output"},
    {"create start restart", "'nmctl run' submits a container, and 'nmctl run --replace' replaces one"},
    {"rename tag", "'nmctl run --name' sets the name of a container"},
    {"image images pull push build", NO_IMAGE},
    {"port network", NO_PORTS},
    {"cp volume volumes", NO_MOUNTS},
};

/* Returns whether the blank-separated list contains the word. */
static bool has_word(const char *words, const char *word, size_t len)
{
    for (size_t n; *words; words += n + strspn(words + n, " ")) {
        n = strcspn(words, " ");
        if (n == len && memcmp(words, word, n) == 0)
            return true;
    }
    return false;
}

const char *nm_docker_hint_option(const char *verb, const char *word)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(options); i++)
        if (nm_streq(options[i].verb, verb) && has_word(options[i].words, word, strcspn(word, "=")))
            return options[i].hint;
    return NULL;
}

const char *nm_docker_hint_verb(const char *word)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(verbs); i++)
        if (has_word(verbs[i].words, word, strlen(word)))
            return verbs[i].hint;
    return NULL;
}
