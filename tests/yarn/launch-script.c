/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Prints the launch script that yarn/ writes: launch-script LOG-DIR ADD-OPENS. Reads the launch context from standard
 * input, in the format of Launch.java.
 */

#include <stdio.h>

#include "util/error.h"
#include "yarn/launch/script.h"

#define MOST 64

static struct nm_yarn_env inherited[MOST], node[MOST], asked[MOST];
static struct nm_yarn_link links[MOST];
static const char *command[MOST + 1];
static size_t n_command;

static void take(struct nm_yarn_launch *l, char *line)
{
    char *rest = line, *word = strsep(&rest, " "), *whole = strdup(rest), *name = strsep(&rest, " ");

    if (nm_streq(word, "inherit"))
        inherited[l->n_inherited++] = (struct nm_yarn_env){name, getenv(name)};
    else if (nm_streq(word, "node"))
        node[l->n_node++] = (struct nm_yarn_env){name, rest};
    else if (nm_streq(word, "asked"))
        asked[l->n_asked++] = (struct nm_yarn_env){name, rest};
    else if (nm_streq(word, "link"))
        links[l->n_links++] = (struct nm_yarn_link){name, rest};
    else
        command[n_command++] = whole;
}

int main(int argc, char **argv)
{
    struct nm_yarn_launch l = {
        .inherited = inherited, .node = node, .asked = asked, .links = links, .command = command};
    char line[4096], *script = NULL, *message = NULL;

    if (argc != 3)
        return 2;
    l.markers = (struct nm_yarn_markers){argv[1], argv[2]};
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        take(&l, strdup(line));
    }
    if (nm_yarn_launch_script(&l, &script, &message) < 0) {
        fprintf(stderr, "%s\n", message ? message : "no memory");
        return 1;
    }
    fputs(script, stdout);
    return 0;
}
