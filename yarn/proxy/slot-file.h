/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file with the newest entries of a log, one message in each slot. The file isn't synced to the disk, so use it only
 * for logs that may be lost in a crash of the host. A new entry causes one write, to its own slot, whatever the number
 * of entries. A slot with a wrong checksum is ignored. The owner of the file also keeps the entries in memory, so the
 * log works without the file until nmd exits.
 */

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#define NM_YARN_SLOTS 1024u

struct nm_yarn_slot_file {
    int fd;    /* -EBADF: there is no file */
    int error; /* why there is no file: -errno, or -EBADMSG if it isn't a regular file; 0: there is one */
};

/* Opens or creates the file in that directory. */
void nm_yarn_slot_file_open(int dir_fd, const char *name, struct nm_yarn_slot_file *ret);
void nm_yarn_slot_file_done(struct nm_yarn_slot_file *f);

/* Writes entry number n of the log. If this fails, or if the message is too large for a slot, the slot keeps its
 * former entry. */
void nm_yarn_slot_file_write(const struct nm_yarn_slot_file *f, uint64_t n, const ProtobufCMessage *m);
/* Calls cb for each message that an earlier nmd has written. The message is valid during the call only. The bytes may
 * come from another slot or another nmd, so cb checks the members. */
typedef void (*nm_yarn_slot_cb_t)(const ProtobufCMessage *m, size_t slot, void *userdata);
void nm_yarn_slot_file_read(const struct nm_yarn_slot_file *f, const ProtobufCMessageDescriptor *what,
                            nm_yarn_slot_cb_t cb, void *userdata);
