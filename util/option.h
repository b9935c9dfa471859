/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parses the options of a command line by tables. A table has one row for each option, with the type of its value and
 * the member of a struct that receives the value. getopt_long() splits the words. Its own messages are replaced,
 * because they don't describe the allowed values.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nm_option;

/* Outcome of an option after which the program ends with success, such as --help. */
#define NM_OPTION_DONE 1

struct nm_option_type {
    /* Checks the value (NULL for a flag) and stores it in `at`, the option's member. Returns 0, NM_OPTION_DONE, or an
     * error for which nm_option_parse() has a message: -ERANGE (too large or too small), -E2BIG (the option is given
     * more than type->max times) or -EINVAL. On failure `at` is unchanged. */
    int (*take)(void *at, char *value, const struct nm_option *o);
    const char *allowed; /* description of the allowed values, for messages; NULL: messages use nm_option.arg */
    uint64_t min, max;   /* range of numbers and times; for some types, max is the number of repetitions */
};

struct nm_option {
    char brief;        /* the short form; '\0': the option has no short form */
    const char *name;
    const char *arg;   /* name of the value in --help; NULL for a flag */
    const struct nm_option_type *type;
    size_t offset;     /* offset of the option's member in the struct */
    const char *help;  /* text for a --help that is made from the table, or text that the option prints */
    unsigned complete; /* kind of completion for the value, as a number that the program defines */
};

/* A table ends with a row that has no name. */
#define NM_OPTION_FLAG(brief_, name_, at_) \
    {.brief = (brief_), .name = (name_), .type = &nm_option_flag, .offset = (at_)}
#define NM_OPTION_VALUE(brief_, name_, arg_, type_, at_) \
    {.brief = (brief_), .name = (name_), .arg = (arg_), .type = (type_), .offset = (at_)}
#define NM_OPTION_PRINT(brief_, name_, text_) \
    {.brief = (brief_), .name = (name_), .type = &nm_option_print, .help = (text_)}

/* Type for a single row of a table at file scope. */
#define NM_OPTION_TYPE(take_, allowed_) (&(const struct nm_option_type){.take = (take_), .allowed = (allowed_)})
#define NM_OPTION_RANGE(take_, allowed_, min_, max_) \
    (&(const struct nm_option_type){.take = (take_), .allowed = (allowed_), .min = (min_), .max = (max_)})

extern const struct nm_option_type nm_option_flag;  /* bool */
extern const struct nm_option_type nm_option_any;   /* const char * */
extern const struct nm_option_type nm_option_print; /* prints `help` to stdout; NM_OPTION_DONE */

/* Functions for types of numbers from min to max. */
int nm_option_take_u32(void *at, char *value, const struct nm_option *o);
int nm_option_take_u64(void *at, char *value, const struct nm_option *o);
int nm_option_take_size(void *at, char *value, const struct nm_option *o);     /* uint64_t, bytes */
int nm_option_take_duration(void *at, char *value, const struct nm_option *o); /* uint64_t, usec */
/* const char *. Refuses an empty value, because it usually comes from an unset variable of a script. */
int nm_option_take_text(void *at, char *value, const struct nm_option *o);

enum nm_option_fault_kind {
    NM_OPTION_UNKNOWN,
    NM_OPTION_NO_VALUE,
    NM_OPTION_NEEDLESS_VALUE,
    NM_OPTION_BAD_VALUE,
    NM_OPTION_OUT_OF_RANGE,
    NM_OPTION_TOO_OFTEN,
};

struct nm_option_fault {
    enum nm_option_fault_kind kind;
    const struct nm_option *option; /* NULL: the option is unknown */
    const char *word;               /* the value; for an unknown option, the word as it was typed */
    /* name of the known option that is most similar to the unknown option; NULL: no option is similar */
    const char *nearest;
};

#define NM_OPTION_TABLES_MAX 2

struct nm_option_parser {
    struct {
        const struct nm_option *options; /* NULL: no table */
        void *into;                      /* the struct whose members receive the values */
    } tables[NM_OPTION_TABLES_MAX];
    bool stops_at_operand;
    void (*report_cb)(const struct nm_option_fault *fault, void *userdata); /* NULL: nm_option_report() */
    void *userdata;
};

/* Parses argv[1..] and sets *ret_first to the index of the first operand in the (reordered) argv. Returns 0,
 * NM_OPTION_DONE, or -EINVAL after a message. */
int nm_option_parse(const struct nm_option_parser *p, int argc, char **argv, int *ret_first);

/* Prints a message about a wrong option to stderr: its name, its value and the allowed values. */
void nm_option_report(const struct nm_option_fault *fault);
/* Returns the description of the allowed values, or the name of the value if there is no description. */
const char *nm_option_allowed(const struct nm_option *o);

/* Returns the option of the table that a word of the command line names ("-m", "--memory"), or NULL. */
const struct nm_option *nm_option_find(const struct nm_option *options, const char *word);
/* Prints "-m, --memory SIZE" to the buffer, for --help, and returns it. */
const char *nm_option_label(const struct nm_option *o, char *buf, size_t size);

/* Returns the word of the list that a user probably meant by the mistyped word `given`, or NULL if no word is similar
 * enough. */
const char *nm_nearest_word(const char *given, const char *const *words, size_t n);
