/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The containers that nmd knows, in memory and on disk: lists and their index, the row and the snapshot of each
 * container, and each container's directories. The lists own the containers. Functions return 0, -errno, or the outcome
 * of a refusal with its problem. A failed write of a row is also passed to nm_record_store_result().
 */

#include "agent/state/manager-state.h"

/* ---- lists.c: live and ended containers, and applications ------------------------------------ */

/* Appends c to the list of live containers and adds it to the index. Takes ownership of c on success only. */
int nm_lists_add_live(struct nm_manager *m, struct nm_container *c, struct nm_live_container **ret);
/* Moves the container to the list of ended containers. l is freed now, or when the last call in progress has
 * returned. */
void nm_lists_remove_live(struct nm_live_container *l);
void nm_lists_end_passes(struct nm_live_container *l); /* ends passes over the container's processes that are in
                                                          progress */
int nm_lists_add_ended(struct nm_manager *m, struct nm_container *c); /* takes ownership of c on success only */
/* Marks the result as no longer kept for the owner (keep_result). */
void nm_lists_release(struct nm_manager *m, struct nm_container *c);
void nm_lists_index(struct nm_manager *m, struct nm_container *c);
struct nm_container *nm_lists_by_id(struct nm_manager *m, const char *id); /* NULL if no container has this id */
struct nm_live_container *nm_lists_live_of(const struct nm_container *c); /* NULL if the container has ended */
/* Returns the application's slot. Slot 0 is for containers without an application, and for new applications when all
 * slots are used. */
uint32_t nm_lists_app(struct nm_manager *m, const char *name);
/* Returns the mean run time of the application's containers, or 0 if it is not known. */
uint64_t nm_lists_mean_run(const struct nm_manager *m, const char *name);
void nm_lists_report_unkillable(struct nm_manager *m); /* reports the number of unkillable containers to health */
/* Removes an ended container with its row and its files. The result of the container must not be kept for an owner
 * (keep_result). */
void nm_lists_remove_ended(struct nm_manager *m, struct nm_container *c);
/* Removes some ended containers that are older than the configured time or exceed the limits on their number. Returns
 * true if there may be more of them. */
bool nm_lists_drop_ended(struct nm_manager *m, uint64_t now_usec);
struct nm_lists *nm_lists_new(void); /* NULL: out of memory */
struct nm_lists *nm_lists_free(struct nm_lists *lists);
/* Makes slot 0 of the applications. Must be called before the other functions of lists.c that take the manager. */
int nm_lists_begin(struct nm_manager *m);
int nm_lists_reserve(struct nm_manager *m); /* makes the policies' workspaces as large as the lists */
void nm_lists_done(struct nm_manager *m); /* frees all containers and applications */

/* ---- persist.c: a container's row, snapshot and state ---------------------------------------- */

/* Changes the container's state, journals it and notifies subscribers. */
void nm_persist_set_state(struct nm_live_container *l, enum nm_state to);
/* Writes the container's row. Returns 0 or -errno. */
int nm_persist_journal(struct nm_live_container *l);
/* Write the container's snapshot (container-snapshot.h). The first function writes it if the container was launched or
 * already has a snapshot, the second if the container waits and has no snapshot yet. The third always writes it. */
int nm_persist_snapshot(struct nm_live_container *l);
void nm_persist_snapshot_waiting(struct nm_live_container *l);
int nm_persist_write_snapshot(struct nm_live_container *l);
/* Refuses requests that are not urgent while the journal cannot be written, because the effect of a successful request
 * must outlive nmd. */
int nm_persist_check(struct nm_manager *m, struct nm_problem *ret_problem);
/* Refuses a request because of this error of the journal. */
int nm_persist_refuse(const struct nm_manager *m, int error, struct nm_problem *ret_problem);
/* Makes the answer for an urgent request, which is carried out even if the journal cannot be written. id: the
 * container; done: the completed action. */
int nm_persist_answer(const struct nm_manager *m, const char *id, const char *done, struct nm_problem *ret_problem);

/* ---- persist.c: a container's directories ---------------------------------------------------- */

#define NM_DIR_SIZE 4096
void nm_files_container_dir(const struct nm_manager *m, const char *id, char buf[NM_DIR_SIZE]);
/* Makes the directory of the containers' directories, and gives the file system a hint about it. */
void nm_files_prepare(const struct nm_manager *m);
typedef void (*nm_files_cb_t)(const char *id, void *userdata);
/* Calls cb for each directory whose name can be a container's id. Returns 0 or a negative errno. */
int nm_files_foreach(const struct nm_manager *m, nm_files_cb_t cb, void *userdata);
void nm_files_drop(struct nm_manager *m, const char *id); /* removes directory and logs */
