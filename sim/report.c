/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See report.h. The text helps to choose settings. It shows side by side the few figures in which settings differ, and
 * finally the row that does the most work without harm. JSON has all figures, without a recommendation.
 */

#include "sim/report.h"

#include <inttypes.h>
#include <math.h>
#include <sys/ioctl.h>

#include "util/parse.h"

#define LOST_SHARE_MAX 0.05 /* share of opportunistic work: a row that loses more isn't recommended */
#define MUCH_SLOWER 1.05 /* relative to over-allocation off, at the 99th percentile: guaranteed containers are harmed */

/* Returns the main figure: the useful CPU time of both types. Opportunistic work that only replaces guaranteed work
 * doesn't increase this figure. */
double nm_sim_report_gain(const struct nm_sim_result *r, const struct nm_sim_result *off)
{
    double base = nm_sim_useful_work(off);

    return base > 0 ? nm_sim_useful_work(r) / base : 0;
}

/* Formats a duration. The limits of the units take rounding into account, so that 99.6 seconds isn't printed as
 * "100s". */
static const char *duration(double usec, char *buf, size_t size)
{
    double sec = usec / 1e6;

    if (sec < 99.5)
        (void)snprintf(buf, size, sec < 9.95 ? "%.1fs" : "%.0fs", sec);
    else if (sec < 99.5 * 60)
        (void)snprintf(buf, size, "%.0fmin", sec / 60);
    else
        (void)snprintf(buf, size, "%.1fh", sec / 3600);
    return buf;
}

static const char *cpu_time(double sec, char *buf, size_t size)
{
    (void)snprintf(buf, size, sec < 36000 ? "%.0f CPU-seconds" : "%.1f CPU-hours",
                   sec < 36000 ? sec : sec / 3600);
    return buf;
}

/* Formats a number with commas: "12,345,678" */
static const char *grouped(uint64_t n, char *buf, size_t size)
{
    char digits[24];
    size_t len, at = 0;

    (void)snprintf(digits, sizeof digits, "%" PRIu64, n);
    len = strlen(digits);
    for (size_t i = 0; i < len && at + 2 < size; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            buf[at++] = ',';
        buf[at++] = digits[i];
    }
    buf[at] = '\0';
    return buf;
}

static double per_sec(uint64_t n, uint64_t usec)
{
    return (double)n * 1e6 / (double)NM_MAX(usec, UINT64_C(1));
}

/* ---- one replay ---------------------------------------------------------- */

static void print_node(const struct nm_workload *load, const struct nm_sim_result *r, FILE *f)
{
    const struct nm_policy_settings *s = &r->settings;
    char memory[32], period[32];

    fprintf(f, "%s: %zu jobs on %s and %g CPUs for containers, a sample every %s%s\n", load->title,
            load->n_jobs, nm_format_size(s->capacity.memory_bytes, memory, sizeof memory),
            (double)s->capacity.cpu_millicores / 1000,
            nm_format_duration(r->period_usec, period, sizeof period),
            load->cut_off ? " (the trace's last line is incomplete)" : "");
    if (s->over_allocation)
        fprintf(f, "alpha %g/%g, beta %g/%g (memory/CPU), victims %s\n",
                s->over_allocation_threshold.memory, s->over_allocation_threshold.cpu,
                s->preemption_threshold.memory, s->preemption_threshold.cpu,
                nm_victim_order_name(s->victim_order));
    else
        fprintf(f, "over-allocation is off\n");
}

static void print_use(const struct nm_sim_result *r, FILE *f)
{
    fprintf(f,
            "\n               mean   95 %% of   highest   over beta   allocated\n"
            "               use    the time            (time)      (mean)\n"
            "  memory      %4.0f %%    %4.0f %%    %4.0f %%    %6.2f %%      %4.0f %%\n"
            "  CPU         %4.0f %%    %4.0f %%         -    %6.2f %%      %4.0f %%\n",
            r->memory_mean * 100, r->memory_p95 * 100, r->memory_most * 100,
            r->memory_over_beta * 100, r->memory_allocated * 100, r->cpu_mean * 100,
            r->cpu_p95 * 100, r->cpu_over_beta * 100, r->cpu_allocated * 100);
}

static void print_jobs(const struct nm_sim_result *r, FILE *f)
{
    static const char *const titles[] = {"guaranteed", "opportunistic"};

    fprintf(f, "\n                 jobs   refused  done     killed   at the end       wait           "
               "slow-\n"
               "                                        (OOM)    running waiting  mean    95 %%    "
               "down\n");
    for (int t = 0; t < 2; t++) {
        const struct nm_sim_jobs *j = &r->jobs[t];
        char killed[48], mean[24], p95[24];

        (void)snprintf(killed, sizeof killed, "%" PRIu64 " (%" PRIu64 ")", j->preempted + j->oom,
                       j->oom);
        fprintf(f,
                "  %-13s %6" PRIu64 "  %7" PRIu64 "  %-7" PRIu64 "  %-8s %7" PRIu64 " %7" PRIu64
                "  %-7s %-7s %.2f\n",
                titles[t], j->submitted, j->refused, j->done, killed, j->running, j->waiting,
                duration(j->wait_mean_usec, mean, sizeof mean),
                duration(j->wait_p95_usec, p95, sizeof p95), j->slowdown_mean);
    }
}

static void print_work(const struct nm_sim_result *r, const struct nm_sim_result *off, FILE *f)
{
    const struct nm_sim_jobs *o = &r->jobs[NM_OPPORTUNISTIC];
    char work[32], ran[24], paused[24], waited[24];

    fprintf(f, "\n  useful work    %s", cpu_time(nm_sim_useful_work(r), work, sizeof work));
    if (off)
        fprintf(f, ", %.2f times that with over-allocation off", nm_sim_report_gain(r, off));
    if (r->oracle_cpu_sec > 0)
        fprintf(f,
                "\n  oracle         %.1f %% of the opportunistic work that is possible with knowledge of the future",
                nm_sim_oracle_share(r) * 100);
    fprintf(f, "\n  guaranteed     99 %% of the time at most %.1f %% slower than alone on the node",
            (r->jobs[NM_GUARANTEED].slowdown_p99 - 1) * 100);
    fprintf(f,
            "\n  work lost      %s with %" PRIu64 " killed containers that had run for %s in total: %.1f %% of "
            "opportunistic work\n",
            cpu_time(o->work_lost, work, sizeof work), o->preempted + o->oom,
            duration(o->time_lost * 1e6, ran, sizeof ran), nm_sim_lost_share(r) * 100);
    fprintf(f,
            "  taken back     %" PRIu64 " kills (%" PRIu64 " for memory, %" PRIu64 " for CPU, %" PRIu64 " for "
            "guaranteed ones, %" PRIu64 " paused for too long), %" PRIu64 " pauses (%s in total), %" PRIu64 " resumes, "
            "%" PRIu64 " reclaims (%s of waiting for swap)\n",
            r->n_kills, r->kills[NM_REASON_MEMORY_OVER_BETA], r->kills[NM_REASON_CPU_OVER_BETA],
            r->kills[NM_REASON_ROOM_FOR_GUARANTEED], r->kills[NM_REASON_PAUSE_DEADLINE],
            r->n_pauses, duration(r->paused_sec * 1e6, paused, sizeof paused), r->n_resumes, r->n_reclaims,
            duration(r->swap_in_sec * 1e6, waited, sizeof waited));
    fprintf(f,
            "  out of memory  the kernel killed %" PRIu64 " opportunistic and %" PRIu64 " guaranteed containers; "
            "%" PRIu64 " exceeded their own limit\n",
            r->oom_opportunistic, r->oom_guaranteed,
            r->jobs[NM_OPPORTUNISTIC].limit + r->jobs[NM_GUARANTEED].limit);
}

static void print_invariants(const struct nm_sim_result *r, FILE *f)
{
    char at[32];

    if (r->n_violations == 0)
        fprintf(f, "  invariants     none violated in %" PRIu64 " rounds\n", r->n_rounds);
    else
        fprintf(f,
                "  INVARIANTS     violated %" PRIu64 " times, first after %s: %s. Please report "
                "this with the trace.\n",
                r->n_violations, nm_format_duration(r->first_violation_usec, at, sizeof at),
                r->first_violation);
}

static void print_speed(const struct nm_sim_result *results, size_t n, FILE *f)
{
    uint64_t rounds = 0, decisions = 0, usec = 0, simulated = 0;
    char a[32], b[32], time[32];

    for (size_t i = 0; i < n; i++) {
        rounds += results[i].n_rounds;
        decisions += results[i].n_decisions;
        usec += results[i].spent_usec;
        simulated += results[i].duration_usec;
    }
    fprintf(f,
            "\n%s simulated in %.2f s: %s rounds, %s decisions;\n%.0f thousand rounds and %.1f "
            "million decisions a second (one container judged in one round)\n",
            nm_format_duration(simulated, time, sizeof time), (double)usec / 1e6,
            grouped(rounds, a, sizeof a), grouped(decisions, b, sizeof b),
            per_sec(rounds, usec) / 1e3, per_sec(decisions, usec) / 1e6);
}

void nm_sim_report_print(const struct nm_workload *load, const struct nm_sim_result *r,
                         const struct nm_sim_result *off, FILE *f)
{
    print_node(load, r, f);
    print_use(r, f);
    print_jobs(r, f);
    print_work(r, off, f);
    print_invariants(r, f);
    print_speed(r, 1, f);
}

/* ---- several replays ----------------------------------------------------- */

static int name_width(const struct nm_sim_result *results, size_t n)
{
    size_t width = 20;

    for (size_t i = 0; i < n; i++)
        width = NM_MAX(width, strlen(results[i].name));
    return (int)width;
}

static const char *oom_kills(const struct nm_sim_result *r, char *buf, size_t size)
{
    if (r->oom_opportunistic + r->oom_guaranteed == 0)
        (void)snprintf(buf, size, "0");
    else
        (void)snprintf(buf, size, "%" PRIu64 "+%" PRIu64, r->oom_opportunistic, r->oom_guaranteed);
    return buf;
}

static const char *alarm_of(const struct nm_sim_result *r)
{
    return r->n_violations > 0 ? " INVARIANTS VIOLATED" : "";
}

/* Prints a row that fits on a terminal of 80 columns, because wrapped rows are hard to compare. */
static void print_narrow_row(const struct nm_sim_result *r, const struct nm_sim_result *off,
                             int width, FILE *f)
{
    const struct nm_sim_jobs *o = &r->jobs[NM_OPPORTUNISTIC];
    char wait[24], oom[48];

    fprintf(f, "%-*s %3.0f%% %3.0f%% %5.2f%% %5" PRIu64 " %6s %5" PRIu64 " %5s %5.1f%% %5.2f%s\n",
            width, r->name, r->memory_mean * 100, r->cpu_mean * 100, r->memory_over_beta * 100,
            o->done, duration(o->wait_mean_usec, wait, sizeof wait), r->n_kills,
            oom_kills(r, oom, sizeof oom), nm_sim_lost_share(r) * 100, nm_sim_report_gain(r, off),
            alarm_of(r));
}

static void print_row(const struct nm_sim_result *r, const struct nm_sim_result *off, int width,
                      FILE *f)
{
    const struct nm_sim_jobs *g = &r->jobs[NM_GUARANTEED], *o = &r->jobs[NM_OPPORTUNISTIC];
    char wait[2][24], oom[48];

    fprintf(f,
            "%-*s %3.0f%% %3.0f%%  %3.0f%% %3.0f%%  %5.2f%% |%6" PRIu64 " %6s %5.2f |%6" PRIu64
            " %6s %5.2f |%6" PRIu64 " %6" PRIu64 " %5s %5.1f%% | %4.2f%s\n",
            width, r->name, r->memory_mean * 100, r->memory_p95 * 100, r->cpu_mean * 100,
            r->cpu_p95 * 100, r->memory_over_beta * 100, g->done,
            duration(g->wait_mean_usec, wait[0], sizeof wait[0]), g->slowdown_mean, o->done,
            duration(o->wait_mean_usec, wait[1], sizeof wait[1]), o->slowdown_mean, r->n_pauses,
            r->n_kills, oom_kills(r, oom, sizeof oom), nm_sim_lost_share(r) * 100,
            nm_sim_report_gain(r, off), alarm_of(r));
}

/* Returns whether guaranteed containers aren't harmed. Some lost opportunistic work is acceptable. */
static bool is_harmless(const struct nm_sim_result *r, const struct nm_sim_result *off)
{
    return r->oom_guaranteed == 0 && r->n_violations == 0 &&
           nm_sim_lost_share(r) <= LOST_SHARE_MAX &&
           r->jobs[NM_GUARANTEED].slowdown_p99 <= off->jobs[NM_GUARANTEED].slowdown_p99 * MUCH_SLOWER;
}

/* Prints the best row. Includes the row with over-allocation off, which is the best if every other row does harm. */
static void print_best(const struct nm_sim_result *results, size_t n, FILE *f)
{
    const struct nm_sim_result *best = NULL;

    for (size_t i = 0; i < n; i++)
        if (is_harmless(&results[i], &results[0]) &&
            (!best || nm_sim_useful_work(&results[i]) > nm_sim_useful_work(best)))
            best = &results[i];
    if (best)
        fprintf(f,
                "\nMost useful work: %s\n(of the rows with no harm to guaranteed containers, and at most "
                "%.0f %% of opportunistic work lost)\n",
                best->name, LOST_SHARE_MAX * 100);
    else
        fprintf(f,
                "\nAll of these rows harm guaranteed containers or lose more than\n%.0f %% of opportunistic work.\n",
                LOST_SHARE_MAX * 100);
}

#define WIDE 116 /* columns of a row without the row's name */

/* Returns whether the output is a narrow terminal. A pipe or a file gets all columns. */
static bool is_narrow(FILE *f, int width)
{
    struct winsize size;

    return isatty(fileno(f)) && ioctl(fileno(f), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
           size.ws_col < WIDE + width;
}

static void print_titles(bool narrow, int width, FILE *f)
{
    if (narrow)
        fprintf(f,
                "%-*s  in use    memory  opportunistic  killed by           useful\n"
                "%-*s  mem  CPU   >beta  done   wait    nmd kernel  lost    work\n",
                width, "", width, "");
    else
        fprintf(f,
                "%-*s  memory     CPU       memory |      guaranteed     |     opportunistic   |"
                "    taken back and lost     | useful\n"
                "%-*s mean  p95  mean  p95   >beta  |  done   wait  slow |  done   wait  slow |"
                "pauses  kills   OOM   lost | work\n",
                width, "", width, "");
}

static void print_legend(bool narrow, FILE *f)
{
    fprintf(f, "\nwait: mean time to the start; to the end for opportunistic ones that were refused or never\n"
               "started; ");
    if (narrow)
        fprintf(f, "kernel: opportunistic+guaranteed containers; lost: share of opportunistic\n"
                   "CPU time that ended in a kill; useful work: CPU time that was not lost, against\n"
                   "over-allocation off. A wider terminal, or a pipe, shows more.\n");
    else
        fprintf(f, "slow: time from start to end, against that at full speed;\n"
                   "OOM: kills by the kernel, opportunistic+guaranteed; lost: share of opportunistic CPU time\n"
                   "that ended in a kill; useful work: CPU time that was not lost, against over-allocation off.\n");
}

static void print_sets(const struct nm_sim_case *cases, size_t n, FILE *f)
{
    for (size_t i = 0; i < n; i++)
        if (cases[i].sets[0])
            fprintf(f, "%s: %s.\n", cases[i].name, cases[i].sets);
}

/* Prints the assumptions behind the gain, which is limited by the unused guaranteed resources and by the available
 * jobs. */
static void print_assumptions(const struct nm_sim_result *results, size_t n, FILE *f)
{
    const struct nm_sim_result *off = &results[0];
    uint64_t fewest = UINT64_MAX;

    for (size_t i = 1; i < n; i++) {
        const struct nm_sim_jobs *o = &results[i].jobs[NM_OPPORTUNISTIC];

        fewest = NM_MIN(fewest, o->refused + o->waiting);
    }
    fprintf(f,
            "\nThe gap, with over-allocation off: %.0f %% of CPU allocated and %.0f %% used, of memory %.0f and "
            "%.0f %%.\n",
            off->cpu_allocated * 100, off->cpu_mean * 100, off->memory_allocated * 100, off->memory_mean * 100);
    if (n > 1 && fewest > 0)
        fprintf(f,
                "There are always more jobs: of %" PRIu64 " opportunistic ones at least %" PRIu64 " did not start. So "
                "useful work\nis nearly the ratio of mean CPU use; with fewer jobs the gain is smaller.\n",
                off->jobs[NM_OPPORTUNISTIC].submitted, fewest);
}

void nm_sim_report_compare(const struct nm_workload *load, const struct nm_sim_case *cases,
                           const struct nm_sim_result *results, size_t n, FILE *f)
{
    int width = name_width(results, n);
    bool narrow = is_narrow(f, width);
    char memory[32];

    fprintf(f, "%s: %zu jobs on %s and %g CPUs for containers%s\n\n", load->title, load->n_jobs,
            nm_format_size(results[0].settings.capacity.memory_bytes, memory, sizeof memory),
            (double)results[0].settings.capacity.cpu_millicores / 1000,
            load->cut_off ? " (the trace's last line is incomplete)" : "");
    print_titles(narrow, width, f);
    for (size_t i = 0; i < n; i++)
        (narrow ? print_narrow_row : print_row)(&results[i], &results[0], width, f);
    print_legend(narrow, f);
    print_sets(cases, n, f);
    print_assumptions(results, n, f);
    print_best(results, n, f);
    print_speed(results, n, f);
}

/* ---- JSON ---------------------------------------------------------------- */

/* Rounds to a millionth: smaller digits are rounding errors of divisions, and would make equal results look
 * different. */
static double rounded(double x)
{
    return round(x * 1e6) / 1e6;
}

static json_t *jobs_to_json(const struct nm_sim_jobs *j)
{
    return json_pack(
        "{s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "limit_killed",
        (json_int_t)j->limit, "slowdown_p99", rounded(j->slowdown_p99), "submitted",
        (json_int_t)j->submitted, "refused", (json_int_t)j->refused, "done", (json_int_t)j->done,
        "preempted", (json_int_t)j->preempted, "oom_killed", (json_int_t)j->oom, "running",
        (json_int_t)j->running, "waiting", (json_int_t)j->waiting, "wait_mean_sec",
        rounded(j->wait_mean_usec / 1e6), "wait_p95_sec", rounded(j->wait_p95_usec / 1e6),
        "slowdown_mean", rounded(j->slowdown_mean), "cpu_sec_done", rounded(j->work_done),
        "cpu_sec_open", rounded(j->work_open), "cpu_sec_lost", rounded(j->work_lost),
        "container_sec_done", rounded(j->time_done), "container_sec_lost", rounded(j->time_lost));
}

static json_t *settings_to_json(const struct nm_policy_settings *s)
{
    return json_pack("{s:I, s:I, s:b, s:f, s:f, s:f, s:f, s:s, s:s}", "memory_bytes",
                     (json_int_t)s->capacity.memory_bytes, "cpu_millicores",
                     (json_int_t)s->capacity.cpu_millicores, "over_allocation",
                     (int)s->over_allocation, "memory_alpha", s->over_allocation_threshold.memory,
                     "cpu_alpha", s->over_allocation_threshold.cpu, "memory_beta",
                     s->preemption_threshold.memory, "cpu_beta", s->preemption_threshold.cpu,
                     "victim_order", nm_victim_order_name(s->victim_order), "queue_order",
                     nm_queue_order_name(s->queue_order));
}

static json_t *use_to_json(double mean, double p95, double over_beta, double allocated)
{
    return json_pack("{s:f, s:f, s:f, s:f}", "mean", rounded(mean), "p95", rounded(p95),
                     "over_beta", rounded(over_beta), "allocated", rounded(allocated));
}

/* Writes kills by reason. Omits zeros, because most of the policy's reasons don't apply to kills. */
static json_t *kills_to_json(const struct nm_sim_result *r)
{
    json_auto_t *j = json_object();

    for (int i = 0; i < NM_REASON_COUNT; i++)
        if (r->kills[i] > 0 && json_object_set_new(j, nm_reason_name((enum nm_reason)i),
                                                   json_integer((json_int_t)r->kills[i])) < 0)
            return NULL;
    return STEAL_PTR(j);
}

/* Writes the speed of the replay. This is the only part that differs from run to run. It is a separate object, so that
 * the other parts can be compared. */
static json_t *speed_to_json(const struct nm_sim_result *r)
{
    return json_pack("{s:f, s:f, s:f}", "seconds", (double)r->spent_usec / 1e6,
                     "rounds_per_second", per_sec(r->n_rounds, r->spent_usec),
                     "decisions_per_second", per_sec(r->n_decisions, r->spent_usec));
}

static json_t *result_to_json(const struct nm_sim_result *r, const struct nm_sim_result *off)
{
    json_auto_t *j = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:o, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I, "
        "s:I, s:I, s:I, s:f, s:o}",
        "name", r->name, "settings", settings_to_json(&r->settings), "memory",
        use_to_json(r->memory_mean, r->memory_p95, r->memory_over_beta, r->memory_allocated),
        "cpu", use_to_json(r->cpu_mean, r->cpu_p95, r->cpu_over_beta, r->cpu_allocated),
        "guaranteed", jobs_to_json(&r->jobs[NM_GUARANTEED]), "opportunistic",
        jobs_to_json(&r->jobs[NM_OPPORTUNISTIC]), "useful_cpu_sec",
        rounded(nm_sim_useful_work(r)), "oracle_share", rounded(nm_sim_oracle_share(r)),
        "lost_share", rounded(nm_sim_lost_share(r)),
        "kills_by_reason", kills_to_json(r), "admissions", (json_int_t)r->n_admissions, "kills",
        (json_int_t)r->n_kills, "pauses", (json_int_t)r->n_pauses, "resumes",
        (json_int_t)r->n_resumes, "reclaims", (json_int_t)r->n_reclaims, "paused_sec",
        rounded(r->paused_sec), "oom_opportunistic", (json_int_t)r->oom_opportunistic,
        "oom_guaranteed", (json_int_t)r->oom_guaranteed, "violations",
        (json_int_t)r->n_violations, "rounds", (json_int_t)r->n_rounds, "decisions",
        (json_int_t)r->n_decisions, "swap_in_sec", rounded(r->swap_in_sec), "speed", speed_to_json(r));

    if (r->n_violations > 0 && json_object_set_new(j, "first_violation", json_string(r->first_violation)) < 0)
        return NULL;
    if (off && json_object_set_new(j, "useful_work_ratio", json_real(rounded(nm_sim_report_gain(r, off)))) < 0)
        return NULL;
    return STEAL_PTR(j);
}

json_t *nm_sim_report_to_json(const struct nm_workload *load, const struct nm_sim_result *results,
                              size_t n, const struct nm_sim_result *off)
{
    json_auto_t *cases = json_array();

    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(cases, result_to_json(&results[i], off)) < 0)
            return NULL;
    return json_pack("{s:{s:s, s:s, s:f, s:I, s:b}, s:O}", "workload", "title", load->title,
                     "host", load->header.host, "duration_sec",
                     (double)load->duration_usec / 1e6, "jobs", (json_int_t)load->n_jobs, "cut_off",
                     (int)load->cut_off, "cases", cases);
}
