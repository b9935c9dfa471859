/* SPDX-License-Identifier: Apache-2.0 */

/* See cli.h. All help is generated from the tables in verbs.c, so that it is always up to date. */

#include <stdarg.h>

#include "nmctl/cli.h"
#include "nmctl/message.h"
#include "nmctl/term.h"
#include "util/option.h"

#define PIPE_WIDTH 120 /* width of the help in a pipe, which usually leads to a pager */

/* Prints text wrapped between words. Continuation lines are indented by `indent` blanks. */
nm_printf(2, 3) static void print_wrapped(unsigned indent, const char *format, ...)
{
    _cleanup_free_ char *text = NULL;
    struct nm_term term;
    va_list ap;

    va_start(ap, format);
    text = nm_xvasprintf(format, ap);
    va_end(ap);
    nm_term_init(&term, STDOUT_FILENO, true);
    if (term.width == 0)
        term.width = PIPE_WIDTH;
    (void)nm_term_wrap(stdout, text, term.width, term.width < 80 ? NM_MIN(indent, term.width / 4) : indent);
}

/* Prints a table of options, unless the table is empty. */
static void print_options(const char *title, const struct nm_option *options)
{
    char label[64];

    if (!options || !options->name)
        return;
    printf("\n%s:\n", title);
    for (; options->name; options++)
        print_wrapped(29, "  %-26s %s\n", nm_option_label(options, label, sizeof label), options->help);
}

void nm_help_all(const struct nm_verb_tables *tables)
{
    printf("nmctl [OPTION...] VERB [OPTION...] [ARGUMENT...]\n"
           "\n"
           "Runs containers on this node through nmd, and shows the state of containers and node.\n"
           "\n"
           "Verbs:\n");
    for (const struct nm_verb *v = tables->verbs; v->name; v++)
        if (!v->hidden)
            print_wrapped(16, "  %-13s %s\n", v->name, v->summary);
    print_options("Options", tables->global_options);
    print_wrapped(0, "\n"
                     "Exit status: 0 success, 1 nmd refused or the action failed, 2 usage error, 3 nmd can't be "
                     "reached; 'run' and 'exec' return the command's status, or 125 if nmd refused it.\n"
                     "'nmctl VERB --help' shows the options of a verb. See nmctl(1) for details.\n");
}

/* Prints the verb's other names: "Also: nmctl ps, nmctl ls." */
static void print_also(const struct nm_verb *verb)
{
    size_t n;

    (void)fputs("Also:", stdout);
    for (const char *word = verb->also; *word; word += n + (word[n] == ' ')) {
        n = strcspn(word, " ");
        printf("%s nmctl %.*s", word == verb->also ? "" : ",", (int)n, word);
    }
    (void)fputs(".\n", stdout);
}

void nm_help_verb_usage(const struct nm_verb_tables *tables, const struct nm_verb *verb)
{
    printf("nmctl %s%s%s%s\n\n%c%s.\n", verb->name, verb->options ? " [OPTION...]" : "",
           *verb->operands ? " " : "", verb->operands, verb->summary[0] - 'a' + 'A',
           verb->summary + 1);
    if (verb->details)
        print_wrapped(0, "%s\n", verb->details);
    if (verb->also)
        print_also(verb);
    print_options("Options", verb->options);
    print_options("Options of every verb", tables->global_options);
}

/* Suggests the most similar verb. If no verb is similar, refers to the list of verbs. */
int nm_help_unknown_verb(const struct nm_verb_tables *tables, const char *name)
{
    const char *names[64], *near, *hint = nm_docker_hint_verb(name);
    size_t n = 0;

    if (hint) {
        nm_message("there is no verb '%s': %s", name, hint);
        return NM_CTL_USAGE;
    }
    for (const struct nm_verb *v = tables->verbs; v->name && n < NM_ARRAY_SIZE(names); v++)
        if (!v->hidden)
            names[n++] = v->name;
    near = nm_nearest_word(name, names, n);
    if (near)
        nm_message("there is no verb '%s'; did you mean '%s'? 'nmctl --help' lists them", name, near);
    else
        nm_message("there is no verb '%s'; 'nmctl --help' lists them", name);
    return NM_CTL_USAGE;
}

int nm_help_verb(struct nm_ctl *ctl)
{
    const struct nm_verb *verb;

    if (ctl->n_operands == 0) {
        nm_help_all(ctl->tables);
        return NM_CTL_OK;
    }
    verb = nm_args_find_verb(ctl->tables, ctl->operands[0]);
    if (!verb)
        return nm_help_unknown_verb(ctl->tables, ctl->operands[0]);
    nm_help_verb_usage(ctl->tables, verb);
    return NM_CTL_OK;
}
