/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The command of a container's process (launcher.h). If a container is retried after failures, one process runs all
 * attempts: a loop in bash. So retries also work while nmd is not running. The loop behaves like Hadoop's
 * SlidingWindowRetryPolicy.
 */

#include <inttypes.h>

#include "yarn/launch/launcher.h"

#define SCRIPT "launch_container.sh"
#define NEVER 0
#define LISTED 2
#define FOREVER (-1)
#define INTERVAL_MIN_MSEC 1000
#define CODE_MAX 255 /* the largest exit code of a process */

/*
 * The arguments of the loop:
 *   $1: number of retries, or -1 for no limit
 *   $2: seconds between two attempts
 *   $3: seconds after which a failure is no longer counted, or 0
 *   further arguments: exit codes that are retried; if there are none, all exit codes are retried
 * A process that was killed by SIGKILL or SIGTERM is not retried, because it was ended on purpose. EPOCHSECONDS is the
 * wall clock, which may be set back: failures with a time in the future count as recent.
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
    return nm_arena_print(arena, "%" PRIu64 ".%03u", msec / 1000, (unsigned)(msec % 1000));
}

/* Copies the codes with which a process can fail, each of them once. A master chooses the length of the list, but the
 * number of copied codes is limited. */
static size_t list_codes(const Yarn__RetryContext *r, uint8_t ret[CODE_MAX])
{
    bool seen[CODE_MAX + 1] = {false};
    size_t n = 0;

    for (size_t i = 0; i < r->n_codes; i++) {
        const int32_t code = r->codes[i];

        if (code < 1 || code > CODE_MAX || seen[code])
            continue;
        seen[code] = true;
        ret[n++] = (uint8_t)code;
    }
    return n;
}

static const char *const *make_loop(const Yarn__RetryContext *r, const uint8_t *codes, size_t n_codes,
                                    struct nm_arena *arena)
{
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
    argv[n++] = nm_arena_print(arena, "%d", r->max_retries < 0 ? FOREVER : r->max_retries);
    argv[n++] = seconds(arena, interval_msec);
    argv[n++] = nm_arena_print(arena, "%" PRId64, validity_sec);
    for (size_t i = 0; i < n_codes; i++)
        argv[n++] = nm_arena_print(arena, "%d", codes[i]);
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
    uint8_t codes[CODE_MAX];
    size_t n_codes;

    if (!r || r->policy == NEVER || r->max_retries == 0)
        return once;
    n_codes = r->policy == LISTED ? list_codes(r, codes) : 0;
    if (r->policy == LISTED && n_codes == 0) /* no failure is retried */
        return once;
    return make_loop(r, codes, n_codes, arena);
}
