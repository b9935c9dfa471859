/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a container's process is (launcher.h). A container that is to be run again when it fails is one for all its
 * attempts: a loop in bash, so that the node need not be there, and with the meaning of Hadoop's
 * SlidingWindowRetryPolicy.
 */

#include <inttypes.h>

#include "yarn/launch/launcher.h"
#include "yarn/launch/text.h"

#define SCRIPT "launch_container.sh"
#define NEVER 0
#define LISTED 2
#define FOREVER (-1)
#define INTERVAL_MIN_MSEC 1000
#define CODES_MAX 1024

/*
 * $1 how often it may run again, or -1; $2 the seconds between; $3 the seconds after which a failure is forgotten, or
 * 0; then the codes, or none: all. What ended by SIGKILL or SIGTERM was ended by somebody, and stays so. EPOCHSECONDS
 * is the host's clock, which may be put back: a failure of the future is one of now.
 */
static const char loop[] =
    "max=$1 interval=$2 validity=$3; shift 3; failures=()\n"
    "while :; do\n"
    "    /bin/bash " SCRIPT "; code=$?\n"
    "    case $code in 0|137|143) exit $code;; esac\n"
    "    [ $# -eq 0 ] || [[ \" $* \" == *\" $code \"* ]] || exit $code\n"
    "    if [ $max -ge 0 ]; then\n"
    "        now=$EPOCHSECONDS recent=()\n"
    "        for at in \"${failures[@]}\"; do\n"
    "            [ $validity -eq 0 ] || [ $((now - at)) -lt $validity ] && recent+=(\"$at\")\n"
    "        done\n"
    "        failures=(\"${recent[@]}\")\n"
    "        [ ${#failures[@]} -lt $max ] || exit $code\n"
    "        failures+=(\"$now\")\n"
    "    fi\n"
    "    sleep $interval\n"
    "done\n";

static const char *seconds(struct nm_arena *arena, uint64_t msec)
{
    return nm_yarn_print(arena, "%" PRIu64 ".%03u", msec / 1000, (unsigned)(msec % 1000));
}

static const char *const *make_loop(const Yarn__RetryContext *r, struct nm_arena *arena)
{
    const size_t n_codes = r->policy == LISTED ? NM_MIN(r->n_codes, (size_t)CODES_MAX) : 0;
    const uint64_t interval_msec = (uint64_t)NM_MAX(r->interval_msec, INTERVAL_MIN_MSEC);
    const int64_t validity_sec = r->validity_msec > 0 ? (r->validity_msec - 1) / 1000 + 1 : 0;
    const char **argv = nm_arena_alloc(arena, (8 + n_codes) * sizeof *argv);
    size_t n = 0;

    if (!argv)
        return NULL;
    argv[n++] = "/bin/bash";
    argv[n++] = "-c";
    argv[n++] = loop;
    argv[n++] = "container";
    argv[n++] = nm_yarn_print(arena, "%d", r->max_retries < 0 ? FOREVER : r->max_retries);
    argv[n++] = seconds(arena, interval_msec);
    argv[n++] = nm_yarn_print(arena, "%" PRId64, validity_sec);
    for (size_t i = 0; i < n_codes; i++)
        argv[n++] = nm_yarn_print(arena, "%d", r->codes[i]);
    argv[n] = NULL;
    for (size_t i = 0; i < n; i++)
        if (!argv[i])
            return NULL;
    return argv;
}

const char *const *nm_yarn_launcher_command(const Yarn__LaunchContext *context, struct nm_arena *arena)
{
    static const char *const once[] = {"/bin/bash", SCRIPT, NULL};
    const Yarn__RetryContext *r = context->retry;

    /* a list of codes that is empty has none of them */
    if (!r || r->policy == NEVER || r->max_retries == 0 || (r->policy == LISTED && r->n_codes == 0))
        return once;
    return make_loop(r, arena);
}
