/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The command line into struct nm_args, by the tables of options. Bad values are told here, before
 * anything is sent. */

#include "nmctl/nmctl.h"

void nm_args_init(struct nm_args *a);
void nm_args_done(struct nm_args *a);

/* Parses argv[1..] with the verb's options (NULL: none) and the global ones. stop: the first
 * operand ends it. Returns the index of the first operand in the (reordered) argv, or -EINVAL after
 * having said what is wrong. */
int nm_option_parse(struct nm_args *a, const struct nm_verb *verb, bool stop, int argc,
                    char **argv);

/* "--memory SIZE", "-m, --memory SIZE" for help. The buffer is returned. */
const char *nm_option_label(const struct nm_option *o, char *buf, size_t size);

/* The option that a word of the command line names ("-m", "--memory"), or NULL. */
const struct nm_option *nm_option_find(const struct nm_verb *verb, const char *word);

extern const char *const nm_sort_keys[];
extern const size_t nm_n_sort_keys;
/* States of containers as lists show them. The last ones are those of ended containers. */
extern const char *const nm_state_words[];
extern const size_t nm_n_state_words;
/* Returns whether only ended containers have that state. False for NULL. */
bool nm_option_state_has_ended(const char *word);
