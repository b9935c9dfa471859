/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A log of the newest entries about containers: a ring in memory, and a file that is a copy of it, with one message in
 * each slot. The entries survive a restart of nmd. If the file can't be used, entries are kept in memory only. The file
 * isn't synced to the disk, so use it only for logs that may be lost in a crash of the host. A new entry causes one
 * write, to its own slot, whatever the number of entries. A slot with a wrong checksum is ignored.
 *
 * Each message contains its number in the sequence of all entries. A restarted nmd finds the newest entry by this
 * number.
 */

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/hadoop/security.pb-c.h"
#include "yarn/ids.h"

#define NM_YARN_SLOTS 1024u

/* The first member of each entry. The log sets it. */
struct nm_yarn_slot_entry {
    bool used;
    struct nm_yarn_container_id container, master; /* master: the container of the application master */
};

/* The same in a message. */
struct nm_yarn_slot_head {
    uint64_t number;
    const Hadoop__ContainerId *container, *master; /* NULL: missing */
};

struct nm_yarn_slot_type {
    const char *file_name;
    const ProtobufCMessageDescriptor *message;
    size_t entry_bytes;
    /* Fills the other members of the entry, which are 0. Returns false if the message is invalid, or without memory:
     * the slot then is empty. The bytes may come from another slot or another nmd, so the members must be checked. */
    bool (*load)(const ProtobufCMessage *m, struct nm_yarn_slot_head *ret_head, void *entry);
    /* Frees the memory that belongs to the entry. */
    void (*done)(void *entry);
};

struct nm_yarn_slot_log;

/* Opens or creates the file in that directory, and reads the entries that an earlier nmd has written. Returns 0 or
 * -ENOMEM. */
int nm_yarn_slot_log_new(int dir_fd, const struct nm_yarn_slot_type *type, struct nm_yarn_slot_log **ret);
/* Returns 0 if the log has a file. Otherwise returns the reason why the file can't be used: -errno, or -EBADMSG if it
 * isn't a regular file. */
int nm_yarn_slot_log_error(const struct nm_yarn_slot_log *l);
struct nm_yarn_slot_log *nm_yarn_slot_log_free(struct nm_yarn_slot_log *l);

/* Adds an entry in place of the oldest one. Returns it, with the other members 0, and its number. It is valid until
 * entries are added. */
void *nm_yarn_slot_log_add(struct nm_yarn_slot_log *l, const struct nm_yarn_container_id *container,
                           const struct nm_yarn_container_id *master, uint64_t *ret_number);
/* Writes the message of an entry. If this fails, or if the message is too large for a slot, the slot keeps its former
 * message. */
void nm_yarn_slot_log_write(const struct nm_yarn_slot_log *l, uint64_t number, const ProtobufCMessage *m);
/* Finds the newest entry of a container, which may be changed and written again with its number. Returns NULL if the
 * log has no such entry. */
void *nm_yarn_slot_log_get(const struct nm_yarn_slot_log *l, const struct nm_yarn_container_id *container,
                           uint64_t *ret_number);
/* Finds the newest entry whose container has this id as text. Returns NULL if the log has no such entry. */
const void *nm_yarn_slot_log_find(const struct nm_yarn_slot_log *l, const char *container);
