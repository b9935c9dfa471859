/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Only for the config*.c files and their tests: the table of keys, and functions that read, check and print the value
 * of any key by its type.
 */

#include "agent/config/config.h"

enum nm_config_type {
    NM_CONFIG_SIZE,     /* uint64_t, bytes */
    NM_CONFIG_DURATION, /* uint64_t, microseconds */
    NM_CONFIG_COUNT,    /* uint32_t */
    NM_CONFIG_COUNT64,  /* uint64_t */
    NM_CONFIG_VCORES,   /* uint32_t, thousandths of a vcore */
    NM_CONFIG_FRACTION, /* double */
    NM_CONFIG_BOOL,     /* bool */
    NM_CONFIG_MODE,     /* mode_t */
    NM_CONFIG_VICTIM_ORDER,
    NM_CONFIG_QUEUE_POLICY,
    NM_CONFIG_QUEUE_ORDER,
    NM_CONFIG_PATH,    /* char *, absolute or "" */
    NM_CONFIG_GROUP,   /* char *, a group's name or "" */
    NM_CONFIG_ADDRESS, /* char *, "IP:port" or "" */
    NM_CONFIG_HOSTS,   /* char *, names and addresses of hosts, separated by spaces or commas, or "" */
    NM_CONFIG_USERS,   /* banned_users and n_banned_users */
};

struct nm_config_key {
    const char *section, *name;
    enum nm_config_type type;
    bool restart;          /* a changed value of this key applies only after a restart */
    bool min_exclusive;    /* the value must be greater than the minimum */
    size_t offset;         /* offset of the field in struct nm_config */
    const char *fallback;  /* the default, as text for a configuration file */
    const char *min, *max; /* minimum and maximum as text, for numeric types */
    const char *word;      /* a special word, such as "auto", whose value is word_value; NULL: no special word */
    uint64_t word_value;   /* value of `word`, outside of min and max */
    const char *other;     /* a second special word, whose value is other_value; only with `word` */
    uint64_t other_value;
    const char *meaning;   /* text for users: effect of the key, and reason for its default */
};

extern const struct nm_config_key nm_config_keys[];
extern const size_t nm_config_n_keys;

struct nm_config_section {
    const char *name, *meaning;
};
extern const struct nm_config_section nm_config_sections[];
extern const size_t nm_config_n_sections;

/* Size of a buffer for a value's text. Only a long list of banned users does not fit. It is cut, and ends with
 * "...". */
#define NM_CONFIG_VALUE_SIZE 1200

/* Returns the key, or NULL if there is no such key. */
const struct nm_config_key *nm_config_find_key(const char *section, const char *name);
bool nm_config_has_section(const char *section);

/* Parses text and stores the value in the key's field of c. Returns 0, -EINVAL, -ERANGE or -ENOMEM. On failure, the
 * field is unchanged. If the key is a list, adds the values to the list. */
int nm_config_set(struct nm_config *c, const struct nm_config_key *key, const char *text);
void nm_config_clear_list(struct nm_config *c, const struct nm_config_key *key);

/* Prints the value of the key. nm_config_set() parses the printed text to the same value. Returns buf. */
const char *nm_config_get(const struct nm_config *c, const struct nm_config_key *key, char *buf,
                          size_t size);

/* Describes the allowed values, for example "auto, or a size from 64M to 1024T". Returns buf. */
const char *nm_config_allowed(const struct nm_config_key *key, char *buf, size_t size);

/* These functions return the key or section whose name is most similar to an unknown name, or NULL if no name is
 * similar. */
const struct nm_config_key *nm_config_nearest_key(const char *section, const char *name);
const char *nm_config_nearest_section(const char *section);

/* The file and line that set a key. */
struct nm_config_source {
    const char *file;
    unsigned line;    /* 0 if no file has set the key, so that the key has its default */
    bool is_unknown;  /* the value in c may not be the intended value, because a file or a value was refused */
};

/* Reads the text of one file into c. file: name of the file, for messages. sources: NULL, or an array with one entry
 * per key, in which the function stores the file and line of each key that is set. Returns 0, -EINVAL with
 * *ret_message, or -ENOMEM. */
int nm_config_read_text(struct nm_config *c, const char *file, const char *text, size_t len,
                        struct nm_config_source *sources, char **ret_message);

/* Checks the relations between keys whose values are known. Returns 0, or -EINVAL with *ret_message. */
int nm_config_check(const struct nm_config *c, const struct nm_config_source *sources,
                    char **ret_message);

/* Prints the KEYS part of nmd.conf(5) as man macros. */
int nm_config_print_man(FILE *f);
