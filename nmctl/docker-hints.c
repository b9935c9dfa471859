/* SPDX-License-Identifier: Apache-2.0 */

/* See docker-hints.h. These tables are searched only for unknown words, so that an entry can't hide an option or verb
 * added later. */

#include "nmctl/docker-hints.h"

#include <string.h>

#include "util/macros.h"
#include "util/parse.h"

#define NO_MOUNTS "containers see this host's own files, so there is nothing to mount"
#define NO_PORTS "containers have this host's own network, so ports are open as they are"
#define NO_IMAGE "there are no images: the command is a program of this host"
#define NO_LABELS "--app says what a container belongs to, --name what it is called"
#define NO_RIGHTS "a container has the rights of its user (-u), and no others"
#define NO_RESTART "nothing is started again by itself; a service of systemd can have 'nmctl run' as its command"
#define CHOOSE "--app and --state choose, --json is for all other choices"
#define AS_JSON "there is --json, for jq and the like"

static const struct {
    const char *verb, *words, *hint;
} options[] = {
    {"run", "-v --volume --mount --tmpfs", NO_MOUNTS},
    {"run", "-p -P --publish --publish-all --expose --net --network", NO_PORTS},
    {"run", "--rm", "nothing is left to be removed: what has ended is forgotten after an hour"},
    {"run", "-l --label", NO_LABELS},
    {"run", "--cpus --cpu-shares --cpu-quota --cpuset-cpus", "CPU is asked for with -c, --vcores"},
    {"run", "--memory-swap --memory-reservation", "memory is asked for with -m, --memory"},
    {"run", "--privileged --cap-add --security-opt --group-add", NO_RIGHTS},
    {"run", "--restart", NO_RESTART},
    {"run", "--entrypoint --pull --platform", NO_IMAGE},
    {"run", "--env-file", "-e, --env takes one variable at a time"},
    {"run", "--stop-timeout", "the time of grace is kill-grace in nmd.conf"},
    {"list", "-f --filter", CHOOSE},
    {"list", "--format", AS_JSON},
    {"list", "-n --last -l --latest", "in the order of arrival the newest is the last: 'nmctl list --all | tail'"},
    {"list", "--no-trunc", "a pipe or a wide terminal has all of it, 'nmctl show' too"},
    {"inspect", "-f --format", "it is JSON, for jq and the like"},
    {"kill", "-s --signal", "it is SIGTERM, and SIGKILL after the time of grace or with --now"},
    {"kill", "-t --time --timeout", "the time of grace is kill-grace in nmd.conf; --now waits for nothing"},
    {"logs", "--until", "--since and --tail choose"},
    {"events", "--until --filter", "--since and --last choose, and a container's name or id"},
    {"events", "--format", AS_JSON},
    {"top", "--no-stream", "in a pipe it is printed once: 'nmctl top | cat'"},
};

static const struct {
    const char *words, *hint;
} verbs[] = {
    {"stats", "'nmctl top' shows what containers use"},
    {"describe", "'nmctl show' tells all about a container, 'nmctl explain' why it is as it is"},
    {"get", "'nmctl list' shows containers, 'nmctl show' one of them, 'nmctl status' the node"},
    {"journal history", "'nmctl events' shows what happened, 'nmctl explain' why, 'nmctl logs' what a container wrote"},
    {"info node nodes health df", "'nmctl status' shows the node"},
    {"unpause thaw unfreeze continue", "'nmctl resume' thaws what is paused"},
    {"freeze suspend hold", "'nmctl pause' freezes a container"},
    {"delete del destroy cancel terminate", "'nmctl kill' ends a container, 'nmctl rm' removes one that has ended"},
    {"submit apply spawn launch", "'nmctl run' runs a command in a container"},
    {"sh shell bash ssh enter", "'nmctl exec -it CONTAINER bash' makes a shell in a container"},
    {"edit set scale resize patch", "'nmctl update' changes what a container is given"},
    {"cordon", "'nmctl drain' has the node admit nothing more"},
    {"uncordon", "'nmctl undrain' has the node admit containers again"},
    {"queue jobs", "'nmctl list --state queued' shows what waits, 'nmctl explain' why"},
    {"why", "'nmctl explain' tells why a container waits, was paused or was killed"},
    {"tail follow", "'nmctl logs --follow' shows what a container writes"},
    {"watch monitor", "'nmctl top' shows containers, 'nmctl status --watch' the node"},
    {"reload", "'nmctl config --reload' has nmd read its configuration anew"},
    {"settings conf", "'nmctl config' shows the settings in force"},
    {"attach", "'nmctl logs --follow' shows what it writes"},
    {"create start restart", "'nmctl run' submits a container, and 'nmctl run --replace' in the place of another"},
    {"rename tag", "a container has the name that 'nmctl run --name' gives it"},
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
