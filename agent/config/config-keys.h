/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Internal to the config*.c files and their tests: the table of keys, and functions that read, check and print any
 * value without knowledge of its key.
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
    bool min_exclusive;    /* the minimum itself is not allowed */
    size_t offset;         /* offset of the field in struct nm_config */
    const char *fallback;  /* the default, as text for a configuration file */
    const char *min, *max; /* minimum and maximum as text, for numeric types */
    const char *word;      /* a special word that stands for word_value; NULL if the key has no special word */
    uint64_t word_value;   /* value that `word` stands for, outside of min and max */
    const char *other;     /* a second special word, which stands for other_value; only with `word` */
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

/* Sufficient for any value's text except a long list of banned users, which is cut and ends with "...". */
#define NM_CONFIG_VALUE_SIZE 1200

/* Returns NULL if there is no such key. */
const struct nm_config_key *nm_config_find_key(const char *section, const char *name);
bool nm_config_has_section(const char *section);

/* Parses text into c's field. Returns 0, -EINVAL, -ERANGE or -ENOMEM; the field is untouched on failure. Values of
 * lists are appended. */
int nm_config_set(struct nm_config *c, const struct nm_config_key *key, const char *text);
void nm_config_clear_list(struct nm_config *c, const struct nm_config_key *key);

/* Prints the value as text that nm_config_set() reads back to the same value. Returns buf. */
const char *nm_config_get(const struct nm_config *c, const struct nm_config_key *key, char *buf,
                          size_t size);

/* Describes the allowed values: "auto, or a size from 64M to 1024T". Returns buf. */
const char *nm_config_allowed(const struct nm_config_key *key, char *buf, size_t size);

/* Returns the key (or section) whose name is most similar to a mistyped name, or NULL if no name is similar. */
const struct nm_config_key *nm_config_nearest_key(const char *section, const char *name);
const char *nm_config_nearest_section(const char *section);

/* Reads one file's text into c. file: name of the file, for messages. places: an array with one entry per key, which
 * receives the place where the key was set; or NULL. Returns -EINVAL with *ret_message, or -ENOMEM. */
struct nm_config_place {
    const char *file;
    unsigned line;    /* 0 if the key was not set, so that its default holds */
    bool is_unknown;  /* the newest setting was refused, or may have been: the value in c is not the intended value */
};
int nm_config_read_text(struct nm_config *c, const char *file, const char *text, size_t len,
                        struct nm_config_place *places, char **ret_message);

/* Checks the relations between keys whose values are known. Returns -EINVAL with *ret_message. */
int nm_config_check(const struct nm_config *c, const struct nm_config_place *places,
                    char **ret_message);

/* Prints the KEYS part of nmd.conf(5) as man macros. */
int nm_config_print_man(FILE *f);
