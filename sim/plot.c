/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See report.h. gnuplot is controlled through a pipe: settings, data blocks, panels. gnuplot is used because it draws
 * axes and legends, supports both file formats, and is packaged in Debian. Without gnuplot only the picture is missing.
 */

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>

#include "sim/report.h"
#include "util/parse.h"

#define LINES_MAX 7 /* more curves in one panel can't be distinguished */
#define WIDTH 1200
#define HEIGHT 1320

/* Colours that colour-blind people can distinguish, too (Okabe and Ito). The row with over-allocation off is grey. */
static const char *const colours[] = {"#888888", "#0072B2", "#D55E00", "#009E73",
                                      "#CC79A7", "#E69F00", "#56B4E9"};

static const char *suffix_of(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot ? dot : "";
}

int nm_plot_check_path(const char *path, char **ret_message)
{
    const char *suffix = suffix_of(path);

    /* gnuplot would run a name that begins with '|' as a command */
    if ((nm_streq(suffix, ".svg") || nm_streq(suffix, ".png")) && !strpbrk(path, "\n\r'\"") &&
        path[0] != '|')
        return 0;
    return nm_fail(ret_message, -EINVAL,
                   "--plot '%s': it must end in .svg or .png, must not contain quotes and must not begin with '|'",
                   path);
}

/* Returns whether gnuplot is installed. popen() succeeds for any command. A missing gnuplot would be detected only by
 * pclose(), and the shell would print its own message. */
static bool have_gnuplot(void)
{
    const char *path = getenv("PATH");
    _cleanup_free_ char *dirs = strdup(path ? path : "/usr/bin:/bin");
    char *rest = dirs, *dir;

    while (dirs && (dir = strsep(&rest, ":"))) {
        char program[4096];

        if ((size_t)snprintf(program, sizeof program, "%s/gnuplot", *dir ? dir : ".") <
                sizeof program &&
            access(program, X_OK) == 0)
            return true;
    }
    return false;
}

/* ---- data ---------------------------------------------------------------- */

/* Writes a quoted title. gnuplot's escapes (such as '_') are disabled. Quotes are replaced. Backquotes are replaced
 * too, because gnuplot runs their content as a command even in double quotes. */
static void put_title(FILE *f, const char *name)
{
    fputc('"', f);
    for (const char *p = name; *p; p++)
        fputc(strchr("\"\\\n`", *p) ? ' ' : *p, f);
    fputc('"', f);
}

struct scale {
    const char *unit;
    double usec;
};

/* Returns the unit that gives short numbers on the axis. Larger units are used from 3 days, 3 hours and 5 minutes. */
static struct scale scale_of(uint64_t duration_usec)
{
    if (duration_usec > 3 * 86400 * NM_USEC_PER_SEC)
        return (struct scale){"days", 86400e6};
    if (duration_usec > 3 * 3600 * NM_USEC_PER_SEC)
        return (struct scale){"hours", 3600e6};
    if (duration_usec > 300 * NM_USEC_PER_SEC)
        return (struct scale){"minutes", 60e6};
    return (struct scale){"seconds", 1e6};
}

/* Writes one data block for each row, in percent, with points at the middle of each bucket. An empty bucket is omitted
 * instead of drawn as 0. */
static void put_data(FILE *f, const struct nm_sim_result *results, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct nm_sim_result *r = &results[i];
        double width = (double)r->duration_usec / r->n_buckets / scale_of(r->duration_usec).usec;

        fprintf(f, "$c%zu << EOD\n", i);
        for (unsigned b = 0; b < r->n_buckets; b++) {
            const struct nm_sim_bucket *x = &r->buckets[b];

            if (x->usec > 0)
                fprintf(f, "%g %g %g %g %g\n", (b + 0.5) * width, x->memory * 100, x->cpu * 100,
                        x->opportunistic, x->memory_most * 100);
        }
        fprintf(f, "EOD\n");
    }
}

static double longest_wait(const struct nm_sim_result *results, size_t n)
{
    double wait = 0;

    for (size_t i = 0; i < n; i++)
        wait = fmax(wait, results[i].jobs[NM_OPPORTUNISTIC].wait_mean_usec);
    return wait;
}

static void put_sums(FILE *f, const struct nm_sim_result *results, size_t n)
{
    double unit = scale_of((uint64_t)longest_wait(results, n)).usec;

    fprintf(f, "$sums << EOD\n");
    for (size_t i = 0; i < n; i++) {
        const struct nm_sim_result *r = &results[i];
        /* the bars have the colours of the curves above, if the picture has curves */
        size_t colour = n <= LINES_MAX ? i : NM_MIN(i, (size_t)1);

        fprintf(f, "%zu ", i);
        put_title(f, r->name);
        fprintf(f, " %g %g %g %d\n", nm_sim_report_gain(r, &results[0]), nm_sim_lost_share(r) * 100,
                r->jobs[NM_OPPORTUNISTIC].wait_mean_usec / unit,
                (int)strtol(colours[colour] + 1, NULL, 16));
    }
    fprintf(f, "EOD\n");
}

/* ---- panels -------------------------------------------------------------- */

/* Draws the thresholds as arrows over the whole width, because plotted lines would get entries in the legend. */
static void put_thresholds(FILE *f, const struct nm_sim_result *r, bool cpu)
{
    double alpha = cpu ? r->settings.over_allocation_threshold.cpu
                       : r->settings.over_allocation_threshold.memory;
    double beta = cpu ? r->settings.preemption_threshold.cpu : r->settings.preemption_threshold.memory;

    fprintf(f, "unset arrow; unset label\n");
    fprintf(f, "set arrow 1 from graph 0, first %g to graph 1, first %g nohead dt 2 lc rgb '#555555'\n",
            alpha * 100, alpha * 100);
    fprintf(f, "set arrow 2 from graph 0, first %g to graph 1, first %g nohead dt 4 lc rgb '#AA0000'\n",
            beta * 100, beta * 100);
    fprintf(f, "set label 1 'α' at graph 1.006, first %g tc rgb '#555555'\n", alpha * 100);
    fprintf(f, "set label 2 'β' at graph 1.006, first %g tc rgb '#AA0000'\n", beta * 100);
}

static void put_curves(FILE *f, const struct nm_sim_result *results, size_t n, int column)
{
    fprintf(f, "plot ");
    for (size_t i = 0; i < NM_MIN(n, (size_t)LINES_MAX); i++) {
        fprintf(f, "%s$c%zu using 1:%d with lines lw %s lc rgb '%s' title ", i ? ", " : "", i,
                column, i == 0 ? "2.2" : "1.6", colours[i]);
        put_title(f, results[i].name);
    }
    fprintf(f, "\n");
}

/* Places a panel. The margins are relative to the screen and not to the text: the panels share one time axis, and must
 * be aligned whatever their labels are. */
static void put_panel(FILE *f, double bottom, double height)
{
    fprintf(f, "set lmargin at screen 0.075; set rmargin at screen 0.97\n"
               "set bmargin at screen %g; set tmargin at screen %g\n",
            bottom, bottom + height);
}

static void put_heading(FILE *f, const struct nm_workload *load, double y, const char *whose)
{
    fprintf(f, "set label 100 ");
    put_title(f, load->title);
    fprintf(f, " at screen 0.075, screen %g font ',15'\n", y);
    if (!whose)
        return;
    fprintf(f, "set label 101 \"α and β are those of '\".");
    put_title(f, whose);
    fprintf(f, ".\"'\" at screen 0.075, screen %g font ',10' tc rgb '#555555'\n", y - 0.02);
}

/* Draws memory by its maxima and CPU by its means: a short lack of memory causes kills, but a short lack of CPU has
 * little effect. The thresholds of only one row are drawn, because several pairs of lines would be confusing. */
static void put_time_panels(FILE *f, const struct nm_workload *load,
                            const struct nm_sim_result *results, size_t n)
{
    const struct nm_sim_result *shown = &results[NM_MIN(n - 1, (size_t)1)];
    const char *unit = scale_of(shown->duration_usec).unit;

    fprintf(f, "set xrange [0:%g]\nset grid ytics lc rgb '#dddddd'\nset border 3\n"
               "set tics nomirror\nset ylabel offset 1,0\n",
            (double)shown->duration_usec / scale_of(shown->duration_usec).usec);
    put_panel(f, 0.735, 0.165);
    fprintf(f, "set key at screen 0.97, screen 0.99 right top horizontal maxcols 4 samplen 2\n"
               "set yrange [0:110]\nset ylabel 'memory in use (peaks), %%'\nset format x ''\n");
    put_thresholds(f, shown, false);
    put_heading(f, load, 0.978, shown->name);
    put_curves(f, results, n, 5);
    fprintf(f, "unset label\n");
    put_panel(f, 0.545, 0.165);
    fprintf(f, "unset key\nset ylabel 'CPU in use, %%'\n");
    put_thresholds(f, shown, true);
    put_curves(f, results, n, 3);
    put_panel(f, 0.37, 0.15);
    fprintf(f, "unset arrow; unset label\nset yrange [0:1<*]\nset format x '%%g'\n"
               "set xlabel '%s' offset 0,0.5\nset ylabel 'opportunistic, running'\n",
            unit);
    put_curves(f, results, n, 4);
}

/* Draws one panel of horizontal bars, which leaves room for long names. */
static void put_bars(FILE *f, double left, double right, const char *title, int column,
                     const char *format, double most, bool names, size_t n, double top)
{
    fprintf(f, "set lmargin at screen %g; set rmargin at screen %g\n"
               "set bmargin at screen 0.045; set tmargin at screen %g\n"
               "unset arrow; unset key; unset xlabel; unset ylabel\n"
               "set title '%s' font ',12' offset 0,-0.5\nset border 0; unset xtics; unset grid\n"
               "set yrange [%g:-0.7]; set xrange [0:%g]\n",
            left, right, top, title, (double)n - 0.3, most);
    if (names)
        fprintf(f, "set ytics scale 0 nomirror font ',%d'\n", n > 20 ? 8 : 11);
    else
        fprintf(f, "unset ytics\n");
    fprintf(f,
            "plot $sums using ($%d/2):1:($%d/2):(0.34):6%s with boxxyerror fs solid 0.85 noborder "
            "lc rgb variable, '' using %d:1:(sprintf('%s', $%d)) with labels left offset 0.6,0 "
            "font ',%d'\n",
            column, column, names ? ":yticlabels(2)" : "", column, format, column,
            n > 20 ? 8 : 11);
}

static void put_bar_panels(FILE *f, const struct nm_sim_result *results, size_t n, double top)
{
    struct scale scale = scale_of((uint64_t)longest_wait(results, n));
    double gain = 1, lost = 1, wait = fmax(longest_wait(results, n) / scale.usec, 0.1);
    char title[64];

    for (size_t i = 0; i < n; i++) {
        gain = fmax(gain, nm_sim_report_gain(&results[i], &results[0]));
        lost = fmax(lost, nm_sim_lost_share(&results[i]) * 100);
    }
    (void)snprintf(title, sizeof title, "mean wait in the queue, %s", scale.unit);
    put_bars(f, 0.24, 0.49, "useful work, relative to over-allocation off", 3, "%.2f", gain * 1.2,
             true, n, top);
    fprintf(f, "unset label\n"); /* the heading is printed only once */
    put_bars(f, 0.53, 0.73, "opportunistic work lost, %", 4, "%.1f", lost * 1.25, false, n, top);
    put_bars(f, 0.77, 0.97, title, 5, "%.1f", wait * 1.25, false, n, top);
}

static void put_script(FILE *f, const struct nm_workload *load, const struct nm_sim_result *results,
                       size_t n, const char *path)
{
    bool lines = n <= LINES_MAX;
    int height = lines ? HEIGHT : 200 + (int)n * 26;

    if (nm_streq(suffix_of(path), ".svg"))
        fprintf(f, "set terminal svg size %d,%d font 'DejaVu Sans,12' noenhanced background rgb 'white'\n",
                WIDTH, height);
    else
        fprintf(f, "set terminal pngcairo size %d,%d font 'DejaVu Sans,11' noenhanced background rgb 'white'\n",
                WIDTH, height);
    fprintf(f, "set encoding utf8\nset output '%s'\n", path);
    put_data(f, results, n);
    put_sums(f, results, n);
    fprintf(f, "set multiplot\n");
    if (lines)
        put_time_panels(f, load, results, n);
    else
        put_heading(f, load, 1 - 24.0 / height, NULL);
    put_bar_panels(f, results, n, lines ? 0.30 : 1 - 80.0 / height);
    fprintf(f, "unset multiplot\nset output\n");
}

/* Creates the output file, replacing an old file that could be mistaken for the new picture. Otherwise gnuplot, if it
 * couldn't open its output, would continue and write to nmsim's standard output. */
static int make_file(const char *path, char **ret_message)
{
    _cleanup_close_ int fd = -EBADF;
    int r;

    (void)unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0)
        return 0;
    r = -errno;
    return nm_fail(ret_message, r, "can't write the plot %s: %s", path, strerror(-r));
}

int nm_plot(const struct nm_workload *load, const struct nm_sim_result *results, size_t n,
            const char *path, char **ret_message)
{
    void (*was)(int);
    struct stat st;
    FILE *f;
    int status, r;

    if (!have_gnuplot())
        return nm_fail(ret_message, -ENOENT,
                       "can't write the plot %s: gnuplot is not installed (Debian: apt install gnuplot-nox)", path);
    r = make_file(path, ret_message);
    if (r < 0)
        return r;
    /* SIGPIPE must not kill nmsim if gnuplot ends early; with "exec" pclose() returns gnuplot's own exit status */
    was = signal(SIGPIPE, SIG_IGN);
    f = popen("exec gnuplot -", "we");
    if (!f)
        return -errno;
    put_script(f, load, results, n, path);
    status = pclose(f);
    (void)signal(SIGPIPE, was);
    if (status == 0 && stat(path, &st) == 0 && st.st_size > 0)
        return 0;
    (void)unlink(path);
    return nm_fail(ret_message, -EIO, "can't write the plot %s: gnuplot failed (its own message is above)", path);
}
