/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a node is asked to do: jobs with what they use as they go on, and what the system around
 * them uses as time passes. It comes from a trace (load.c) or is made up (generate.c), and is only
 * read while it is replayed.
 *
 * A job's use is a function of its own progress: running time at full speed since its start, which
 * stands still while it is paused and goes slower while it gets less CPU than it wants. Under
 * another configuration it starts at another time, and would use the same.
 *
 * A recording shows less than that of jobs that were killed, were alive at its end, or never
 * started; nm_workload_finish() says how they are continued:
 *
 *   killed by nmd    runs for as long as was expected of it, or, if nothing was, for the median of
 *                    those of its application (else its type, else all) that ended by themselves;
 *                    never less than was seen. From where its curve stops, the last minute of it is
 *                    repeated.
 *   alive at the end the same; but one that has outlived that already is taken for a service, and
 *                    never ends
 *   never started    the same run time; it uses as large a share of its request as others of its
 *                    type did
 */

#include "agent/trace.h"

/* Holds from at_usec (progress of a job, or time of the trace) to the next. */
struct nm_use {
    uint64_t at_usec;
    uint64_t memory_bytes;
    uint32_t cpu_millicores; /* wanted; a recording shows what it got */
};

struct nm_curve {
    struct nm_use *points; /* the first at 0 */
    size_t n, size;
};

/* How a job of a recording ended there. */
enum nm_job_end {
    NM_JOB_ALIVE,  /* it did not */
    NM_JOB_DONE,   /* by itself, or by somebody's wish */
    NM_JOB_KILLED, /* by nmd or the kernel, before it was done */
};

#define NM_RUN_FOR_EVER UINT64_MAX

struct nm_job {
    uint64_t number; /* in the trace; 0 if it was refused there */
    char name[NM_NAME_SIZE];
    uint32_t app;    /* index into the workload's */
    enum nm_execution_type type;
    struct nm_resources request;
    bool exempt, cpu_is_share;
    uint64_t min_runtime_usec, expected_usec;
    uint64_t submit_usec;
    bool present;      /* it runs already when the trace begins */
    uint64_t ran_usec; /* present: for so long */
    struct nm_curve curve;
    uint64_t run_usec; /* progress at which it is done */
    /* in the recording */
    bool started, refused;
    enum nm_job_end end;
    enum nm_exit_reason end_reason;
    uint64_t peak_bytes, cpu_usec; /* at its end */
};

/* Promotion, demotion, resizing: a wish of the recording's users, at its time. */
struct nm_job_change {
    uint64_t at_usec;
    size_t job;
    enum nm_execution_type type;
    struct nm_resources request;
};

/* Caches and memory bandwidth, on a host whose CPUs are cores of their own. On two such cores of a large server none
 * could be measured (tests/bench/interference-bench.c: 0.3 % at most); more cores have more neighbours. Two threads of
 * one core together do 1.2 to 1.5 times the work of one: 0.25 to 0.4. --interference puts what was measured in its
 * place. */
#define NM_SIM_INTERFERENCE 0.05

struct nm_workload {
    struct nm_trace_header header;
    struct nm_config *config; /* as recorded, or the defaults */
    char title[128];          /* "node17, 24h", for people */
    struct nm_job *jobs;      /* by submit_usec */
    size_t n_jobs, jobs_size;
    struct nm_job_change *changes;
    size_t n_changes, changes_size;
    char (*apps)[NM_NAME_SIZE]; /* the first is "" */
    size_t n_apps, apps_size;
    struct nm_curve system;     /* beside the containers, by time of the trace */
    uint64_t duration_usec;
    uint64_t first_sample_usec; /* replays sample in step with the recording */
    double interference; /* how much slower guaranteed ones are beside a node full of others: NM_SIM_INTERFERENCE */
    bool cut_off;               /* the last line was incomplete, and left out */
};

int nm_workload_new(struct nm_workload **ret);
struct nm_workload *nm_workload_free(struct nm_workload *w);
NM_DEFINE_CLEANUP(struct nm_workload *, nm_workload_free)

/* The index of an application, which is added if it is new. */
int nm_workload_app(struct nm_workload *w, const char *name, uint32_t *ret);
/* Takes the job with its curve; *ret: its index. */
int nm_workload_add_job(struct nm_workload *w, const struct nm_job *job, size_t *ret);
int nm_workload_add_change(struct nm_workload *w, const struct nm_job_change *change);
/* A point that holds from at_usec, which is not before the last one's; at the same time it replaces
 * it, and one that says nothing new is left out. */
int nm_curve_add(struct nm_curve *c, const struct nm_use *use);
/* The same, but the point is kept even if it says nothing new: so long nothing had changed. */
int nm_curve_put(struct nm_curve *c, const struct nm_use *use);

/* Completes what was not seen (above). To be called once, when all is in. */
int nm_workload_finish(struct nm_workload *w);

/* load.c: a trace, "-" for standard input. -EBADMSG with *ret_message = "FILE:LINE: what is wrong
 * and what is allowed", or another error, with a message where there is one to give. */
int nm_workload_load(const char *path, struct nm_workload **ret, char **ret_message);
int nm_workload_read(FILE *f, const char *name, struct nm_workload **ret, char **ret_message);

/* save.c: as a made-up trace. 0, or -errno of the stream. */
int nm_workload_save(const struct nm_workload *w, FILE *f);
