/* SPDX-License-Identifier: Apache-2.0 */

/* See print.h. */

#include "yarn/setup/print.h"

#include <string.h>

#define WIDTH 100

/* Prints a sentence as a list item. Long sentences are broken into lines. */
static void print_wrapped(FILE *out, const char *text)
{
    size_t column = 4;

    fputs("  * ", out);
    for (const char *p = text; *p;) {
        const size_t n = strcspn(p, " ");

        if (column > 4 && column + 1 + n > WIDTH) {
            fputs("\n    ", out);
            column = 4;
        } else if (column > 4) {
            fputc(' ', out);
            column++;
        }
        (void)fwrite(p, 1, n, out);
        column += n;
        p += n + (p[n] == ' ');
    }
    fputc('\n', out);
}

/* ---- the cluster -------------------------------------------------------------------------- */

static void print_host(FILE *out, const struct nm_setup_facts *f, const struct nm_setup_host *h)
{
    char name[200], why[400];

    fprintf(out, "  %s %s:%u", nm_setup_role(h->role), nm_yarn_conf_printable(h->name, name, sizeof name), h->port);
    for (size_t i = 0; i < h->n_addresses; i++)
        fprintf(out, "%s%s", i == 0 ? " (" : ", ", h->addresses[i]);
    fputs(h->n_addresses > 0 ? ")" : "", out);
    if (nm_setup_why_unreached(f, h, why, sizeof why))
        fprintf(out, ": %s\n", why);
    else
        fprintf(out, ": answers at %s\n", h->answered);
}

static void print_found(FILE *out, const struct nm_setup_request *w, const struct nm_setup_facts *f)
{
    fprintf(out, "Configuration of the cluster: %s\n", w->conf_dir);
    for (size_t i = 0; i < f->n_hosts; i++)
        print_host(out, f, &f->hosts[i]);
    if (f->java_home)
        fprintf(out, "  Java%s%s: %s (%s)\n", f->java_version ? " " : "", f->java_version ?: "", f->java_home,
                f->java_from);
    if (f->hadoop_home)
        fprintf(out, "  Hadoop: %s (%s)\n", f->hadoop_home, f->hadoop_from);
}

/* ---- steps -------------------------------------------------------------------------------- */

static const struct {
    const char *to_do, *done;
} acts[] = {
    [NM_SETUP_KEEP] = {"keep", "kept"},
    [NM_SETUP_MAKE] = {"make", "made"},
    [NM_SETUP_CHANGE] = {"change", "changed"},
    [NM_SETUP_LEAVE] = {"leave", "left"},
};

/* Prints the lines of a file that the setup would write. Skips the first line, which says that nmd has written the
 * file: the administrator may copy the lines to another file. */
static void print_text(FILE *out, const char *text)
{
    const bool has_writer = *text == '#';

    for (size_t n, i = 0; *text; text += n + (text[n] == '\n'), i++) {
        n = strcspn(text, "\n");
        if (i > 0 || !has_writer)
            fprintf(out, "            %.*s\n", (int)n, text);
    }
}

static void print_step(FILE *out, const struct nm_setup_step *s, bool is_done)
{
    fprintf(out, "  %-7s %s", is_done ? acts[s->act].done : acts[s->act].to_do, s->path);
    if (s->act == NM_SETUP_LEAVE)
        fprintf(out, ": %s\n", s->why);
    else if (s->act == NM_SETUP_KEEP)
        fprintf(out, ": already correct\n");
    else if (s->is_dir && s->act == NM_SETUP_CHANGE)
        fprintf(out, ": a directory, from owner %u:%u and mode %04o to %u:%u and %04o\n", s->old_uid, s->old_gid,
                (unsigned)s->old_mode, s->uid, s->gid, (unsigned)s->mode);
    else if (s->is_dir)
        fprintf(out, ": a directory, owner %u:%u, mode %04o\n", s->uid, s->gid, (unsigned)s->mode);
    else
        fputs(":\n", out);
    if (!s->is_dir && s->act != NM_SETUP_KEEP)
        print_text(out, s->text);
}

/* Describes what the administrator can do. If a directory above the path is the problem, the directory must be changed
 * and not the path. */
static const char *remedy(const struct nm_setup_step *s, char *buf, size_t size)
{
    if (!s->weak)
        return s->is_dir ? "Make it a directory of root with mode 0755, or choose another one."
                         : "Put the lines above into a drop-in, or move the file away and run this command again.";
    if (s->is_dir)
        (void)snprintf(buf, size, "Choose another directory in yarn-site.xml, such as /srv/nmd%s, or make root the "
                                  "owner of %s, too.",
                       strrchr(s->path, '/'), s->weak);
    else
        (void)snprintf(buf, size, "Make root the owner of %s, and run this command again.", s->weak);
    return buf;
}

static void print_unchanged(FILE *out, const struct nm_setup_plan *p)
{
    char text[4000], buf[1800];

    for (size_t i = 0; i < p->n_steps; i++) {
        const struct nm_setup_step *s = &p->steps[i];

        if (s->act != NM_SETUP_LEAVE)
            continue;
        (void)snprintf(text, sizeof text, "%s is left unchanged because %s. %s", s->path, s->why,
                       remedy(s, buf, sizeof buf));
        print_wrapped(out, text);
    }
}

/* ---- next commands ------------------------------------------------------------------------ */

#define TO_LOG " 2>>/var/log/nmd.log" /* nmd logs to standard error */

static void print_kill(FILE *out, const struct nm_setup_service *s)
{
    if (s->pid > 0)
        fprintf(out, "  kill %d\n", (int)s->pid);
    else
        fputs("  kill \"$(nmctl version --json | sed -n 's/^ *\"pid\": \\([0-9]*\\).*/\\1/p')\"\n", out);
}

/* Prints a command that starts nmd in the same way as the unit with its drop-in. On a host without systemd, only
 * Environment= of the drop-in is needed. The values need no quotes in a shell, because nm_setup_is_plain() has accepted
 * them. */
static void print_start(FILE *out, const struct nm_setup_request *w, const struct nm_setup_plan *p)
{
    static const char key[] = "Environment=";
    const char *line = "";

    for (size_t i = 0; i < p->n_steps; i++)
        if (nm_streq(p->steps[i].path, w->unit_path))
            line = p->steps[i].text;
    fputs("  ", out);
    for (size_t n; *line; line += n + (line[n] == '\n')) {
        n = strcspn(line, "\n");
        if (strncmp(line, key, strlen(key)) == 0)
            fprintf(out, "%.*s ", (int)(n - strlen(key)), line + strlen(key));
    }
    fprintf(out, "nmd%s" TO_LOG " &\n", w->run_options);
}

static void print_next(FILE *out, const struct nm_setup_request *w, const struct nm_setup_service *s,
                       const struct nm_setup_plan *p, bool is_done)
{
    fputc('\n', out);
    if (is_done)
        fprintf(out, "The setup is done%s.%s", p->n_left > 0 ? ", except for the paths that are left unchanged" : "",
                s->by_systemd ? " " : "\n");
    if (s->by_systemd) {
        fprintf(out,
                "%s stop Hadoop's NodeManager on this host, and run\n"
                "  systemctl daemon-reload && nmd --check-config%s && systemctl restart nmd.service\n",
                is_done ? "Now" : "Then", w->check_options);
        return;
    }
    fprintf(out,
            "systemd doesn't run on this host. Stop Hadoop's NodeManager, and check the setup:\n"
            "  nmd --check-config%s\n",
            w->check_options);
    if (s->pid != 0) {
        fprintf(out, "Stop the running nmd%s, and wait until it has exited:\n", s->pid < 0 ? ", if there is one" : "");
        print_kill(out, s);
    }
    fprintf(out, "Start nmd as a node%s:\n", *w->root ? " on that host" : "");
    print_start(out, w, p);
}

static void print_next_of_undo(FILE *out, const struct nm_setup_request *w, const struct nm_setup_service *s)
{
    fprintf(out,
            "\nIf the node isn't decommissioned in the ResourceManager yet, decommission the node now,%s wait until "
            "its\ncontainers have ended",
            !s->by_systemd && s->pid == 0 ? " and" : "");
    if (s->by_systemd) {
        fputs(", and run\n"
              "  systemctl stop nmd.service\n"
              "After the undo, before Hadoop's NodeManager starts, run\n"
              "  systemctl daemon-reload && systemctl restart nmd.service\n",
              out);
        return;
    }
    if (s->pid == 0) {
        fputs(".\n", out);
    } else {
        fprintf(out, ", and stop the running nmd%s:\n", s->pid < 0 ? ", if there is one" : "");
        print_kill(out, s);
    }
    fprintf(out, "After the undo, before Hadoop's NodeManager starts, start nmd again%s if you still need it:\n"
            "  nmd%s" TO_LOG " &\n", *w->root ? " on that host" : "", w->run_options);
}

/* ---- the output --------------------------------------------------------------------------- */

void nm_setup_print(FILE *out, const struct nm_setup_request *w, const struct nm_setup_facts *f,
                    const struct nm_setup_service *s, const struct nm_setup_plan *p, bool is_done)
{
    print_found(out, w, f);
    fputs("\nFiles and directories of the node\n", out);
    for (size_t i = 0; i < p->n_steps; i++)
        print_step(out, &p->steps[i], is_done);
    if (p->n_advice + p->n_left > 0)
        fputs("\nDecisions that you have to make\n", out);
    print_unchanged(out, p);
    for (size_t i = 0; i < p->n_advice; i++)
        print_wrapped(out, p->advice[i].text);
    fprintf(out,
            "\nTo undo this setup, run\n"
            "  nmd --yarn-setup %s --undo%s\n",
            w->conf_dir, w->options);
    print_next(out, w, s, p, is_done);
}

void nm_setup_print_undo(FILE *out, const struct nm_setup_request *w, const struct nm_setup_service *service,
                         const struct nm_setup_manifest *m, const struct nm_setup_undo *u, bool is_done)
{
    static const struct {
        const char *to_do, *done;
    } names[] = {
        [NM_SETUP_REMOVE] = {"remove", "removed"},
        [NM_SETUP_RESTORE] = {"restore", "restored"},
        [NM_SETUP_GONE] = {"gone", "gone"},
        [NM_SETUP_STAY] = {"leave", "left"},
    };

    if (!m->conf_dir) {
        fputs("No setup was found, so there is nothing to undo.\n", out);
        return;
    }
    fprintf(out, "Setup for the configuration of the cluster: %s\n", m->conf_dir);
    for (size_t i = 0; i < u->n; i++) {
        const struct nm_setup_undo_step *s = &u->steps[i];

        fprintf(out, "  %-8s %s", is_done ? names[s->act].done : names[s->act].to_do, s->entry->path);
        if (s->act == NM_SETUP_RESTORE)
            fprintf(out, ": to owner %u:%u and mode %04o", s->entry->uid, s->entry->gid, (unsigned)s->entry->mode);
        fprintf(out, "%s%s\n", s->why ? ": " : "", s->why ?: "");
    }
    if (is_done)
        fprintf(out, "\nThe setup is undone%s.\n",
                u->kept.n > 0 ? ", except for the paths that are left unchanged" : "");
    print_next_of_undo(out, w, service);
}
