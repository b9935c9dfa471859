/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The command line: options, help, and the execution of a verb. The tables of options convert words to struct nm_args.
 * Invalid values are reported here, before nmctl sends a request. */

#include "nmctl/nmctl.h"

void nm_args_init(struct nm_args *a);
void nm_args_done(struct nm_args *a);

/* Parses argv[1..] into ctl->args with the options of ctl->verb and the global options. If ctl->verb is NULL, parses
 * with the global options only. Called twice for each command line. With `stop`, parsing ends at the first operand, so
 * that the options after the verb aren't parsed. Returns the index of the first operand in the (reordered) argv, or
 * -EINVAL after printing a message. */
int nm_args_parse(struct nm_ctl *ctl, bool stop, int argc, char **argv);

/* Returns the option that a word of the command line names ("-m", "--memory"), or NULL. If `verb` is NULL, looks only
 * for a global option. */
const struct nm_option *nm_args_find_option(const struct nm_verb_tables *tables, const struct nm_verb *verb,
                                            const char *word);
/* Finds a verb by its name or by a name that other tools use. */
const struct nm_verb *nm_args_find_verb(const struct nm_verb_tables *tables, const char *name);

extern const struct nm_option_type nm_args_text;     /* text that isn't empty */
extern const struct nm_option_type nm_args_name;     /* a valid container or application name */
extern const struct nm_option_type nm_args_sort;     /* a key to sort by */
extern const struct nm_option_type nm_args_state;    /* a container's state, in letters of any case */
extern const struct nm_option_type nm_args_size;     /* uint64_t, bytes */
extern const struct nm_option_type nm_args_vcores;   /* uint64_t, thousandths */
extern const struct nm_option_type nm_args_duration; /* uint64_t, usec */
extern const struct nm_option_type nm_args_interval; /* uint64_t, usec: time between two refreshes */
extern const struct nm_option_type nm_args_count;    /* uint64_t */
/* uint64_t, a number of items, limited to the number that nmd sends at once */
extern const struct nm_option_type nm_args_last;
extern const struct nm_option_type nm_args_env;      /* struct nm_variables, to which the variable is appended */

extern const char *const nm_sort_keys[];
extern const size_t nm_n_sort_keys;
/* States of containers as lists show them. The last words are states of ended containers. */
extern const char *const nm_state_words[];
extern const size_t nm_n_state_words;
/* Returns whether the word is a state of ended containers. Returns false for NULL. */
bool nm_state_word_is_ended(const char *word);

/* ---- docker-hints.c -------------------------------------------------------------------------- */

/* Hints for docker's options and verbs that nmctl doesn't have or that have another meaning in nmctl. The texts are
 * constant. */

/* Returns a hint for an option that `verb` doesn't have, given as typed ("-p", "--publish=80:80"), or NULL. */
const char *nm_docker_hint_option(const char *verb, const char *word);
/* Returns a hint for an unknown verb, or NULL. */
const char *nm_docker_hint_verb(const char *word);

/* ---- help.c ---------------------------------------------------------------------------------- */

/* Text of --help, generated from the table of verbs. */

void nm_help_all(const struct nm_verb_tables *tables);
void nm_help_verb_usage(const struct nm_verb_tables *tables, const struct nm_verb *verb);
/* Prints that the verb doesn't exist and suggests a similar verb. Returns NM_CTL_USAGE. */
int nm_help_unknown_verb(const struct nm_verb_tables *tables, const char *name);

/* ---- cli.c ----------------------------------------------------------------------------------- */

/* Implements nmctl without main(): parses the command line and runs the verb. Returns the exit status. */
int nm_cli_run(int argc, char **argv);
