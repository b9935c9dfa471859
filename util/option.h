/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The options of a command line, by tables: one row for each option, with the type of its value and the member of a
 * struct that receives it. getopt_long() splits the words. Its own messages are replaced, since they don't say what a
 * value must be.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nm_option;

/* The outcome of an option that does all there is to do, such as --help. */
#define NM_OPTION_DONE 1

struct nm_option_type {
    /* Checks the value (NULL for a flag) and puts it to `at`, the option's member. Returns 0, NM_OPTION_DONE, or what
     * nm_option_parse() has a message for: -ERANGE (too large or too small), -E2BIG (the option is given more than
     * type->max times) or -EINVAL. `at` stays untouched on failure. */
    int (*take)(void *at, char *value, const struct nm_option *o);
    const char *allowed; /* what a value must be, for messages; NULL: nothing to say but the name of the value */
    uint64_t min, max;   /* of numbers and times; for some types, how often the option can be given */
};

struct nm_option {
    char brief;        /* '\0' if it has no short form */
    const char *name;
    const char *arg;   /* what --help calls its value; NULL for a flag */
    const struct nm_option_type *type;
    size_t offset;     /* of its member of the struct */
    const char *help;  /* where the text of --help is made from the table; or what is printed */
    unsigned complete; /* what its value can be completed to, in the program's own numbers */
};

/* A table ends with a row that has no name. */
#define NM_OPTION_FLAG(brief_, name_, at_) \
    {.brief = (brief_), .name = (name_), .type = &nm_option_flag, .offset = (at_)}
#define NM_OPTION_VALUE(brief_, name_, arg_, type_, at_) \
    {.brief = (brief_), .name = (name_), .arg = (arg_), .type = (type_), .offset = (at_)}
#define NM_OPTION_PRINT(brief_, name_, text_) \
    {.brief = (brief_), .name = (name_), .type = &nm_option_print, .help = (text_)}

/* The type of one row of a table at file scope. */
#define NM_OPTION_TYPE(take_, allowed_) (&(const struct nm_option_type){.take = (take_), .allowed = (allowed_)})
#define NM_OPTION_RANGE(take_, allowed_, min_, max_) \
    (&(const struct nm_option_type){.take = (take_), .allowed = (allowed_), .min = (min_), .max = (max_)})

extern const struct nm_option_type nm_option_flag;  /* bool */
extern const struct nm_option_type nm_option_any;   /* const char * */
extern const struct nm_option_type nm_option_print; /* prints `help` to stdout; NM_OPTION_DONE */

/* For types of numbers from min to max. */
int nm_option_take_u32(void *at, char *value, const struct nm_option *o);
int nm_option_take_u64(void *at, char *value, const struct nm_option *o);
int nm_option_take_size(void *at, char *value, const struct nm_option *o);     /* uint64_t, bytes */
int nm_option_take_duration(void *at, char *value, const struct nm_option *o); /* uint64_t, usec */
/* const char *, not empty: that is a variable of a script that wasn't set. */
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
    const struct nm_option *option; /* NULL: unknown */
    const char *word;               /* the value, or of an unknown option the word as it was typed */
    const char *nearest;            /* the name of an option that may be meant instead of an unknown one, or NULL */
};

#define NM_OPTION_TABLES_MAX 2

struct nm_option_parser {
    struct {
        const struct nm_option *options; /* NULL: none */
        void *into;                      /* the struct to whose members the options lead */
    } tables[NM_OPTION_TABLES_MAX];
    bool stops_at_operand;
    void (*tell)(const struct nm_option_fault *fault, void *userdata); /* NULL: nm_option_tell() */
    void *userdata;
};

/* Parses argv[1..] and sets *ret_first to the index of the first operand in the (reordered) argv. Returns 0,
 * NM_OPTION_DONE, or -EINVAL after it has told what is wrong. */
int nm_option_parse(const struct nm_option_parser *p, int argc, char **argv, int *ret_first);

/* Says on stderr what is wrong with an option: its name, the value and what is allowed. */
void nm_option_tell(const struct nm_option_fault *fault);
/* What a value must be, or else the name of the value. */
const char *nm_option_allowed(const struct nm_option *o);

/* Returns the option of the table that a word of the command line names ("-m", "--memory"), or NULL. */
const struct nm_option *nm_option_find(const struct nm_option *options, const char *word);
/* Prints "-m, --memory SIZE" to the buffer, for --help, and returns it. */
const char *nm_option_label(const struct nm_option *o, char *buf, size_t size);
