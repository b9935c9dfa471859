/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes an application's launch context: its untrusted resources, environment and command. The result is a script, or
 * a refusal with a message. URIs must contain graphic characters only. No name of a resource may lead to a file outside
 * the directory of the resources. */

#include <ctype.h>

#include "yarn/launch/launcher.h"
#include "yarn/launch/resources.h"
#include "yarn/launch/variables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY (64 * NM_MIB)

static void check_resources(const Yarn__LaunchContext *c, struct nm_arena *arena)
{
    _cleanup_free_ char *message = NULL;
    struct nm_localizer_resource *list;
    int r = nm_yarn_resources(c->resources, c->n_resources, "hdfs://nn", arena, &list, &message);

    if (r < 0 && r != -ENOMEM && !message)
        abort();
    for (size_t i = 0; r == 0 && i < c->n_resources; i++) {
        const char *name = nm_yarn_resource_name(c->resources[i]);

        if (!*name || strchr(name, '/') || !list[i].type)
            abort();
        for (const char *p = list[i].uri; *p; p++)
            if (!isgraph((unsigned char)*p))
                abort();
    }
}

static void check_script(const Yarn__LaunchContext *c, const struct nm_yarn_settings *settings, struct nm_arena *arena)
{
    static struct nm_yarn_dir dir = {.name = "/local", .is_good = true};
    const struct nm_yarn_dirs dirs = {.all = &dir, .n = 1, .settings = settings};
    const struct nm_yarn_variable_sources s = {settings, &dirs, &dirs, 17, "0,0,0,0,0", "/bin/nm-shim"};
    const struct nm_yarn_task task = {
        .application = "application_1_0001", .container = "container_1_0001_01_000001", .user = "nobody",
        .submitter = "alice", .dirs = {"/local", "/log"}, .context = c, .node_host = "h"};
    _cleanup_free_ char *message = NULL, *script = NULL;
    struct nm_yarn_launch launch;
    int r = nm_yarn_variables(&s, &task, arena, &launch, &message);

    if (r == 0)
        r = nm_yarn_launch_script(&launch, &script, &message);
    if ((r == 0) != (script != NULL) || (r < 0 && r != -ENOMEM && !message))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nm_yarn_settings *settings;
    struct nm_yarn_conf *conf;
    const Yarn__LaunchContext *c;
    struct nm_arena arena;

    if (!settings) {
        if (nm_yarn_settings_new_conf(&conf) < 0 || nm_yarn_settings_read(conf, NULL, NULL, &settings, NULL) < 0)
            abort();
        (void)nm_yarn_conf_free(conf);
    }
    nm_arena_init(&arena, MEMORY, NULL);
    c = (const Yarn__LaunchContext *)nm_arena_unpack(&arena, &yarn__launch_context__descriptor,
                                                     (struct nm_bytes){data, size});
    if (c) {
        check_resources(c, &arena);
        check_script(c, settings, &arena);
        (void)nm_yarn_launcher_command(c, &arena);
    }
    nm_arena_done(&arena);
    return 0;
}
