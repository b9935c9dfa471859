/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A node's workload: jobs with their use of resources by progress, and the use of the system by time. A workload comes
 * from a trace (load.c) or is made up (generate.c). Replays only read it.
 *
 * A job's use is a function of its own progress: its running time at full speed since its start. Progress stops while
 * the job is paused, and slows down while the job gets less CPU than it wants. Under another configuration the job
 * therefore starts at another time, but uses the same resources.
 *
 * A recording is incomplete for jobs that were killed, were alive at its end, or never started. nm_workload_finish()
 * completes such jobs as follows:
 *
 *   killed by nmd    The job runs for its expected time. If this time isn't known, it runs for the median
 *                    run time of jobs of its application (else of its type, else of all jobs) that ended
 *                    by themselves, but at least as long as recorded. After the end of its curve, the
 *                    last minute of the curve is repeated, backwards and forwards in turn.
 *   alive at the end The job is completed in the same way. But a job that has already run longer than
 *                    this time counts as a service, and never ends.
 *   never started    The run time is determined in the same way. The job uses the same share of its
 *                    request as other jobs of its type.
 */

#include "agent/trace.h"

/* A point of a curve. It is valid from at_usec (progress of a job, or time of the trace) to the next point. */
struct nm_use {
    uint64_t at_usec;
    uint64_t memory_bytes;
    uint32_t cpu_millicores; /* CPU that the job wants; in a recording the CPU that the job got */
};

struct nm_curve {
    struct nm_use *points; /* the first point is at 0 */
    size_t n, size;
};

/* How a job ended in the recording. */
enum nm_sim_job_end {
    NM_SIM_JOB_ALIVE,  /* the job did not end */
    NM_SIM_JOB_DONE,   /* the job ended by itself, or because a user requested it */
    NM_SIM_JOB_KILLED, /* nmd or the kernel killed the job before it was done */
};

#define NM_RUN_FOR_EVER UINT64_MAX

struct nm_sim_job {
    uint64_t number; /* the job's number in the trace; 0: the job was refused in the recording */
    char name[NM_NAME_SIZE];
    uint32_t app;    /* index into the workload's applications */
    enum nm_execution_type type;
    struct nm_resources request;
    bool exempt, cpu_is_share;
    uint64_t min_runtime_usec, expected_usec;
    uint64_t submit_usec;
    bool present;      /* the job was running when the trace began */
    uint64_t ran_usec; /* if present: how long the job had run by then */
    struct nm_curve curve;
    uint64_t run_usec; /* progress at which the job is done */
    /* whether the job was started or refused in the recording */
    bool started, refused;
    enum nm_sim_job_end end;
    enum nm_exit_reason end_reason;
    uint64_t peak_bytes, cpu_usec; /* at the job's end */
};

/* A promotion, demotion or resizing that a user requested in the recording. */
struct nm_sim_job_change {
    uint64_t at_usec;
    size_t job;
    enum nm_execution_type type;
    struct nm_resources request;
};

/* Default slowdown by shared caches and memory bandwidth, on a host whose CPUs are separate cores. On two such cores of
 * a large server no interference could be measured (tests/bench/interference-bench.c: 0.3 % at most). With more cores,
 * the interference is larger. Two threads of one core together do 1.2 to 1.5 times the work of one thread, which is an
 * interference of 0.25 to 0.4. --interference sets a measured value. */
#define NM_SIM_INTERFERENCE 0.05

struct nm_workload {
    struct nm_trace_header header;
    struct nm_config *config; /* configuration as recorded, or the defaults */
    char title[128];          /* title for people, such as "node17, 24h" */
    struct nm_sim_job *jobs;      /* sorted by submit_usec */
    size_t n_jobs, jobs_size;
    struct nm_sim_job_change *changes;
    size_t n_changes, changes_size;
    char (*apps)[NM_NAME_SIZE]; /* the first application is "" */
    size_t n_apps, apps_size;
    struct nm_curve system;     /* use of the system, by time of the trace */
    uint64_t duration_usec;
    uint64_t first_sample_usec; /* replays sample at the same times as the recording */
    double interference; /* slowdown of guaranteed containers if opportunistic containers use the rest of the node */
    bool cut_off;               /* the last line was incomplete, and is ignored */
};

int nm_workload_new(struct nm_workload **ret);
struct nm_workload *nm_workload_free(struct nm_workload *w);
NM_DEFINE_CLEANUP(struct nm_workload *, nm_workload_free)

/* Returns the index of an application. Adds the application if it is new. */
int nm_workload_app(struct nm_workload *w, const char *name, uint32_t *ret);
/* Takes ownership of the job's curve. *ret: the job's index. */
int nm_workload_add_job(struct nm_workload *w, const struct nm_sim_job *job, size_t *ret);
int nm_workload_add_change(struct nm_workload *w, const struct nm_sim_job_change *change);
/* Adds a point. Its at_usec must not be before that of the last point. A point with the same time replaces the last
 * point. A point with the same values as the last point is omitted. */
int nm_curve_add(struct nm_curve *c, const struct nm_use *use);
/* Adds a point as nm_curve_add() does, but keeps a point with the same values. Such a point shows that the values
 * didn't change until then. */
int nm_curve_put(struct nm_curve *c, const struct nm_use *use);

/* Completes the jobs as described above. Must be called once, after everything has been added. */
int nm_workload_finish(struct nm_workload *w);

/* load.c: Reads a trace, "-" for standard input. Returns -EBADMSG with *ret_message = "FILE:LINE: what is wrong and
 * what is allowed", or another error, whose message may be NULL. */
int nm_workload_load(const char *path, struct nm_workload **ret, char **ret_message);
int nm_workload_read(FILE *f, const char *name, struct nm_workload **ret, char **ret_message);

/* save.c: Writes the workload as a made-up trace. Returns 0, or -errno of the stream. */
int nm_workload_save(const struct nm_workload *w, FILE *f);
