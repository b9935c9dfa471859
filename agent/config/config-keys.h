/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Internal to the config*.c files (and their tests): the table of keys, and what is needed to read,
 * check and print any value without knowing the key.
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
    NM_CONFIG_HOSTS,   /* char *, hosts' names and addresses with spaces or commas between them, or "" */
    NM_CONFIG_USERS,   /* banned_users and n_banned_users */
};

struct nm_config_key {
    const char *section, *name;
    enum nm_config_type type;
    bool restart;          /* only a restart applies it */
    bool min_exclusive;    /* the minimum itself is not allowed */
    size_t offset;         /* of the field in struct nm_config */
    const char *fallback;  /* the default, as it would be written in a file */
    const char *min, *max; /* likewise, for numbers */
    const char *word;      /* a word that stands for ... */
    uint64_t word_value;   /* ... this value, outside of min and max; NULL: none */
    const char *other;     /* a second one, only beside a first */
    uint64_t other_value;
    const char *meaning;   /* for people: what it does, and why the default is what it is */
};

extern const struct nm_config_key nm_config_keys[];
extern const size_t nm_config_n_keys;

struct nm_config_section {
    const char *name, *meaning;
};
extern const struct nm_config_section nm_config_sections[];
extern const size_t nm_config_n_sections;

/* Enough for any value's text but the list of banned users, which is cut with "..." where it is too
 * long. */
#define NM_CONFIG_VALUE_SIZE 1200

/* NULL if there is none. */
const struct nm_config_key *nm_config_find_key(const char *section, const char *name);
bool nm_config_has_section(const char *section);

/* Reads text into c's field. 0, -EINVAL, -ERANGE or -ENOMEM; the field is untouched on failure. A
 * list is added to. */
int nm_config_set(struct nm_config *c, const struct nm_config_key *key, const char *text);
void nm_config_clear_list(struct nm_config *c, const struct nm_config_key *key);

/* The value as a file would have it: what set() reads back to the same value. The buffer is
 * returned. */
const char *nm_config_get(const struct nm_config *c, const struct nm_config_key *key, char *buf,
                          size_t size);

/* "auto, or a size from 64M to 1024T": what may be written. The buffer is returned. */
const char *nm_config_allowed(const struct nm_config_key *key, char *buf, size_t size);

/* The key (or section) whose name is nearest to a mistyped one, NULL if none is near. */
const struct nm_config_key *nm_config_nearest_key(const char *section, const char *name);
const char *nm_config_nearest_section(const char *section);

/* Reads one file's text over c. file: its name, for messages. places: one per key, filled with
 * where each was set, or NULL. -EINVAL with *ret_message, or -ENOMEM. */
struct nm_config_place {
    const char *file;
    unsigned line;    /* 0: not set, the default holds */
    bool is_unknown;  /* what was, or seems to have been, written last is refused: the value isn't what is meant */
};
int nm_config_read_text(struct nm_config *c, const char *file, const char *text, size_t len,
                        struct nm_config_place *places, char **ret_message);

/* What must hold between keys whose values are known. -EINVAL with *ret_message. */
int nm_config_check(const struct nm_config *c, const struct nm_config_place *places,
                    char **ret_message);

/* The KEYS part of nmd.conf(5), as man macros. */
int nm_config_print_man(FILE *f);
