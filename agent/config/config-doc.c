/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Prints the documentation of the keys from the table: the packaged nmd.conf, the KEYS part of nmd.conf(5), and the
 * JSON for `nmctl config`.
 */

#include "agent/config/config-keys.h"

#include <assert.h>

#define WIDTH 100

/* Prints text as comment lines of at most WIDTH columns, broken at spaces. */
static void print_comment(FILE *f, const char *text)
{
    assert(text);
    while (*text) {
        size_t n = strlen(text), room = WIDTH - 2;
        if (n > room) {
            for (n = room; n > 0 && text[n] != ' '; n--)
                ;
            if (n == 0)
                n = strcspn(text, " "); /* a word longer than a line is not broken */
        }
        (void)fprintf(f, "# %.*s\n", (int)n, text);
        text += n;
        text += strspn(text, " ");
    }
}

static void print_key(FILE *f, const struct nm_config_key *k)
{
    char allowed[320], line[400];

    (void)fputc('\n', f);
    print_comment(f, k->meaning);
    (void)snprintf(line, sizeof line, "Allowed: %s.%s",
                   nm_config_allowed(k, allowed, sizeof allowed),
                   k->restart ? " Takes effect at the next start of nmd." : "");
    print_comment(f, line);
    (void)fprintf(f, "#%s =%s%s\n", k->name, *k->fallback ? " " : "", k->fallback);
}

int nm_config_print_template(FILE *f)
{
    print_comment(f, "nmd.conf: the node agent's configuration. See nmd.conf(5).");
    (void)fputs("#\n", f);
    print_comment(f, "Every key is shown with its default. To change a key, remove the leading #. Files in nmd.conf.d/ "
                     "that end in .conf are read after this file, in the order of their names. `nmd --check-config` "
                     "checks the configuration, and `systemctl reload nmd` applies it. Sizes: 512M, 1.5G (powers of "
                     "1024). Durations: 250ms, 3s, 10min, 1h, 1d.");
    for (size_t s = 0; s < nm_config_n_sections; s++) {
        (void)fputc('\n', f);
        print_comment(f, nm_config_sections[s].meaning);
        (void)fprintf(f, "[%s]\n", nm_config_sections[s].name);
        for (size_t i = 0; i < nm_config_n_keys; i++)
            if (nm_streq(nm_config_keys[i].section, nm_config_sections[s].name))
                print_key(f, &nm_config_keys[i]);
    }
    return ferror(f) ? -EIO : 0;
}

/* Escapes backslashes, and hyphens, which man would print as other characters. */
static void print_roff(FILE *f, const char *text)
{
    for (const char *s = text; *s; s++) {
        if (*s == '-' || *s == '\\')
            (void)fprintf(f, *s == '-' ? "\\-" : "\\e");
        else
            (void)fputc(*s, f);
    }
}

static void print_man_key(FILE *f, const struct nm_config_key *k)
{
    char allowed[320];

    (void)fputs(".TP\n.B ", f);
    print_roff(f, k->name);
    (void)fputs("\n", f);
    print_roff(f, k->meaning);
    (void)fputs("\n.br\nAllowed: ", f);
    print_roff(f, nm_config_allowed(k, allowed, sizeof allowed));
    (void)fputs(".\nDefault: ", f);
    print_roff(f, *k->fallback ? k->fallback : "empty");
    (void)fputs(k->restart ? ".\nNeeds a restart of nmd.\n" : ".\n", f);
}

int nm_config_print_man(FILE *f)
{
    for (size_t s = 0; s < nm_config_n_sections; s++) {
        (void)fputs(".SS \"[", f);
        print_roff(f, nm_config_sections[s].name);
        (void)fputs("]\"\n", f);
        print_roff(f, nm_config_sections[s].meaning);
        (void)fputc('\n', f);
        for (size_t i = 0; i < nm_config_n_keys; i++)
            if (nm_streq(nm_config_keys[i].section, nm_config_sections[s].name))
                print_man_key(f, &nm_config_keys[i]);
    }
    return ferror(f) ? -EIO : 0;
}

static const struct nm_config_note *find_note(const struct nm_config_key *k, const struct nm_config_note *notes,
                                              size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (nm_streq(notes[i].section, k->section) && nm_streq(notes[i].name, k->name))
            return &notes[i];
    return NULL;
}

static json_t *key_to_json(const struct nm_config *c, const struct nm_config_key *k,
                           const struct nm_config_note *note)
{
    const char *source = c->sources ? c->sources[k - nm_config_keys] : NULL;
    char value[NM_CONFIG_VALUE_SIZE], allowed[320];

    nm_config_get(c, k, value, sizeof value);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:s?, s:s?}", "section", k->section, "key",
                     k->name, "value", value, "default", k->fallback, "allowed",
                     nm_config_allowed(k, allowed, sizeof allowed), "meaning", k->meaning, "is_default",
                     nm_streq(value, k->fallback), "applied_by", k->restart ? "restart" : "reload", "source",
                     source ? source : "default", "in_force", note ? note->value : NULL, "why",
                     note ? note->why : NULL);
}

json_t *nm_config_to_json(const struct nm_config *c, const struct nm_config_note *notes, size_t n_notes)
{
    json_t *array = json_array();

    assert(c && (notes || n_notes == 0));
    for (size_t i = 0; array && i < nm_config_n_keys; i++) {
        const struct nm_config_key *k = &nm_config_keys[i];
        json_t *o = key_to_json(c, k, find_note(k, notes, n_notes));

        if (!o || json_array_append_new(array, o) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}
