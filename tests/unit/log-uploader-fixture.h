/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Runs of aggregate/worker/uploader.h, each in a separate process, with two log directories and a remote directory in a
 * temporary directory. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/types.h>

#include "aggregate/worker/uploader.h"
#include "util/error.h"
#include "util/fileio.h"

#define APPLICATION "application_1700000000000_0001"
#define CONTAINER "container_1700000000000_0001_01_000001"
#define OTHER "container_1700000000000_0001_01_000002"
#define DIR_OF_APPLICATION "remote/alice/bucket-s/0001/" APPLICATION
#define MEMORY "l1/" APPLICATION "/.nmd-uploaded"
#define ENDED "\"containers\":[{\"id\":\"" CONTAINER "\"}]"
#define RUNNING \
    "\"rolled_include\":\".\",\"rolling\":true,\"containers\":[{\"id\":\"" CONTAINER "\",\"running\":true}]"

extern char root[];
extern char output[1 << 16]; /* of the last run */
extern int status;           /* of the last run; a negative signal if it was killed */
extern const char *format;   /* of the next uploads */

int set_up_group(void **state);
int set_up(void **state);
int tear_down(void **state);

/* Names are relative to the temporary directory. The caller frees paths. */
char *path_of(const char *name);
void make_dir(const char *name, mode_t mode);
bool exists(const char *name);
unsigned mode_of(const char *name);
uint64_t size_of(const char *name);
int write_new(const char *path, const char *text);

/* Writes to the end of a log of the container, in the first log directory. */
void add_log(const char *name, const char *text);
char *log_path(const char *name);

/* Runs the uploader with this work. fault: the step at which the uploader dies; NULL: it doesn't die. */
void run(const char *work, const char *fault);
char *make_work(uint64_t msec, const char *remote, const char *more);
void upload_until(uint64_t msec, const char *more, const char *fault);
/* Fails the test if the upload fails. */
void upload(uint64_t msec, const char *more);
void assert_output(const char *part);
/* Returns how often a text is in the complete files of the remote directory. */
unsigned count_remote(const char *text);
