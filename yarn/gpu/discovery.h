/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the GPUs of this node with `nvidia-smi -q -x`, as Hadoop's GpuDiscoverer does. The program runs as the health
 * script does (agent/admin-script.h): in a process of its own, with limits of its time and of its output. A failed run
 * is repeated until discovery-max-errors runs have failed. A run that finds no GPU is a failed run. After a success,
 * the program isn't run again: a node reports its GPUs to the ResourceManager only when it registers.
 */

#include <systemd/sd-event.h>

#include "yarn/conf/properties.h"

struct nm_yarn_gpu_discovery;

/* Finds the path of nvidia-smi, which the caller frees. -ENOENT and the like: *ret_message is a sentence. */
int nm_yarn_gpu_discovery_path(const struct nm_yarn_gpu_settings *s, char **ret, char **ret_message);

struct nm_yarn_gpu_discovery_params {
    sd_event *event;
    const struct nm_yarn_gpu_settings *settings;
    /* Called from the event loop after each run. */
    void (*on_change)(void *userdata);
    void *userdata;
};

/* Starts the discovery. The first run begins in the next turn of the event loop. */
int nm_yarn_gpu_discovery_new(const struct nm_yarn_gpu_discovery_params *params, struct nm_yarn_gpu_discovery **ret);
struct nm_yarn_gpu_discovery *nm_yarn_gpu_discovery_free(struct nm_yarn_gpu_discovery *d);
NM_DEFINE_CLEANUP(struct nm_yarn_gpu_discovery *, nm_yarn_gpu_discovery_free)

/* Returns true when the GPUs are known. *ret_list: valid as long as the discovery exists. */
bool nm_yarn_gpu_discovery_get(const struct nm_yarn_gpu_discovery *d, const struct nm_yarn_gpu **ret_list,
                               size_t *ret_n);
/* Returns true if a further run follows. */
bool nm_yarn_gpu_discovery_is_waiting(const struct nm_yarn_gpu_discovery *d);
/* Returns why the newest run has found no GPUs; "" if it has found some, or hasn't ended. The text is printable. */
const char *nm_yarn_gpu_discovery_trouble(const struct nm_yarn_gpu_discovery *d);
