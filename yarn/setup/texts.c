/* SPDX-License-Identifier: Apache-2.0 */

/* See plan.h. Makes the texts of the files that the setup writes. */

#include <string.h>

#include "yarn/setup/plan.h"

#define HOSTS_OWN "127." /* nmd.service already allows these addresses of localhost */

/* Appends to *text. If there is no memory, *text becomes NULL, and further calls leave it NULL. */
nm_printf(3, 4) static void append(char **text, struct nm_arena *a, const char *format, ...)
{
    char line[600];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    *text = *text ? nm_arena_print(a, "%s%s", *text, line) : NULL;
}

static bool is_own(const char *address)
{
    return strncmp(address, HOSTS_OWN, strlen(HOSTS_OWN)) == 0 || nm_streq(address, "::1");
}

static const char *role_text(enum nm_setup_role role)
{
    return role == NM_SETUP_NAME_NODE ? "a name node" : "a ResourceManager";
}

/* Returns whether an earlier host in the list has the same address, since one machine may have several roles. */
static bool was_allowed(const struct nm_setup_facts *f, size_t host, const char *address)
{
    for (size_t i = 0; i < host; i++)
        for (size_t k = 0; k < f->hosts[i].n_addresses; k++)
            if (nm_streq(f->hosts[i].addresses[k], address))
                return true;
    return false;
}

static void append_addresses(char **text, const struct nm_setup_request *w, const struct nm_setup_facts *f,
                             struct nm_arena *a)
{
    for (size_t i = 0; i < f->n_hosts; i++)
        for (size_t k = 0; k < f->hosts[i].n_addresses; k++) {
            const struct nm_setup_host *h = &f->hosts[i];
            char shown[200];

            if (!is_own(h->addresses[k]) && !was_allowed(f, i, h->addresses[k]))
                append(text, a, "# %s: %s\nIPAddressAllow=%s\n", role_text(h->role),
                       nm_yarn_conf_printable(h->name, shown, sizeof shown), h->addresses[k]);
        }
    for (size_t i = 0; i < f->n_name_servers; i++)
        if (!is_own(f->name_servers[i]))
            append(text, a, "# a name server\nIPAddressAllow=%s\n", f->name_servers[i]);
    for (size_t i = 0; w->allow[i]; i++)
        append(text, a, "# from --allow\nIPAddressAllow=%s\n", w->allow[i]);
}

static bool is_passed_on(const struct nm_yarn_settings *s, const char *name)
{
    for (size_t i = 0; s->env_whitelist && s->env_whitelist[i]; i++)
        if (nm_streq(s->env_whitelist[i], name))
            return true;
    return false;
}

/* Returns the value of a variable. Hadoop's scripts set these variables before they start a NodeManager. Containers
 * inherit them from the NodeManager, so nmd needs them too. */
const char *nm_setup_value_of(enum nm_setup_variable v, const struct nm_setup_request *w,
                              const struct nm_yarn_settings *s, const struct nm_setup_facts *f)
{
    if (v == NM_SETUP_JAVA_HOME)
        return f->java_home;
    if (v == NM_SETUP_HADOOP_CONF_DIR)
        return w->conf_dir;
    return v == NM_SETUP_HADOOP_HOME || is_passed_on(s, nm_setup_variables[v]) ? f->hadoop_home : NULL;
}

static void append_environment(char **text, const struct nm_setup_request *w, const struct nm_yarn_settings *s,
                               const struct nm_setup_facts *f, struct nm_arena *a)
{
    for (enum nm_setup_variable v = 0; v < NM_SETUP_N_VARIABLES; v++) {
        const char *value = nm_setup_value_of(v, w, s, f);

        if (value)
            append(text, a, "Environment=%s=%s\n", nm_setup_variables[v], value);
    }
}

const char *nm_setup_unit_text(const struct nm_setup_request *w, const struct nm_yarn_settings *s,
                               const struct nm_setup_facts *f, struct nm_arena *a)
{
    static const struct nm_setup_unit alone;
    char *text = nm_arena_print(a, "%s", "");

    append(&text, a, "# Written by nmd --yarn-setup %s. To revert it, add --undo.\n[Service]\n", w->conf_dir);
    append_addresses(&text, w, f, a);
    append_environment(&text, w, s, f, a);
    for (size_t i = 0; i < f->n_dirs; i++) /* because of the '-', systemd starts the unit even if a disk is missing */
        if (!nm_setup_unit_writes(&alone, f->dirs[i].path))
            append(&text, a, "ReadWritePaths=-%s\n", f->dirs[i].path);
    return text;
}

const char *nm_setup_config_text(const struct nm_setup_request *w, struct nm_arena *a)
{
    return nm_arena_print(a,
                          "# Written by nmd --yarn-setup %s. To revert it, add --undo.\n[yarn]\nenabled = yes\n"
                          "conf-dir = %s\n",
                          w->conf_dir, w->conf_dir);
}
