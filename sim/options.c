/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See options.h. Options may precede or follow the command and the trace, as getopt_long() allows. Therefore each
 * option is first parsed separately. Combinations of options are checked at the end, when the command is known.
 */

#include "sim/options.h"

#include "util/error.h"
#include "util/option.h"
#include "util/parse.h"

#define KINDS "steady, diurnal, bursty or adversarial"

static const char help[] =
"Usage: nmsim COMMAND [OPTION]...\n"
    "Replays the trace of a node, or a made-up day, with other settings of nmd.\n"
    "\n"
    "  nmsim compare --generate bursty          several configurations on a made-up day\n"
    "  nmsim compare node.trace --case 'bold: alpha=0.9, beta=0.98' --plot bold.svg\n"
    "                                           the history of a node (nmd --record node.trace)\n"
    "  nmsim run node.trace --config new.conf   one configuration, in detail\n"
    "\n"
    "Commands:\n"
    "  run TRACE          one replay\n"
    "  compare TRACE      several configurations side by side, and over-allocation off\n"
    "  generate KIND      write a made-up trace: steady, diurnal, bursty or adversarial\n"
    "\n"
    "Options of run and compare:\n"
    "  -g, --generate KIND  a made-up workload instead of a trace\n"
    "  -c, --config FILE    nmd.conf, with drop-ins in FILE.d/ (compare: one row for each);\n"
    "                       default: the recorded configuration, or nmd's defaults\n"
    "  -s, --set KEY=VALUE  change one key everywhere, such as preemption.victim-order=app-fair;\n"
    "                       alpha=, beta= and victims= for short\n"
    "      --case SPEC      compare: add a row, 'name: KEY=VALUE, KEY=VALUE'\n"
    "      --sweep SPEC     compare: a row for each of KEY=VALUE,VALUE,...; several: all combinations\n"
    "  -p, --plot FILE      draw the result as .svg or .png (needs gnuplot)\n"
    "  -j, --json           print JSON\n"
    "      --jobs           run: print the result of each job, one per line\n"
    "      --interference F slowdown of guaranteed containers on a node full of other containers,\n"
    "                       because of shared caches and cores: 0 to 0.9 (default 0.05)\n"
    "\n"
    "Options of made-up workloads:\n"
    "      --seed N         seed of the random numbers (default 1)\n"
    "      --hours H        duration in hours (default 24)\n"
    "      --memory SIZE    memory of the node (default 64G)\n"
    "      --cpus N         CPUs of the node (default 16)\n"
    "      --containers N   guaranteed services (default 24); the number of jobs is proportional\n"
    "  -o, --output FILE    generate: write to FILE instead of standard output\n"
    "\n"
    "  -h, --help           show this help\n"
    "  -V, --version        show the version\n";

static int take_word(void *at, char *value, const struct nm_option *o)
{
    struct nm_sim_words *w = at;

    if (w->n == o->type->max)
        return -E2BIG;
    w->list[w->n++] = value;
    return 0;
}

/* Takes the value of --generate, or the operand of the command generate, which has the same meaning. */
static int take_kind(struct nm_sim_options *o, const char *word)
{
    if (nm_generate_kind_from_string(word, &o->params.kind) < 0)
        return -EINVAL;
    o->generate = true;
    return 0;
}

static int take_generate(void *at, char *value, const struct nm_option *o)
{
    (void)o;
    return take_kind(at, value);
}

static int take_interference(void *at, char *value, const struct nm_option *o)
{
    struct nm_sim_options *options = at;
    double share;
    int r = nm_parse_fraction(value, &share);

    (void)o;
    if (r < 0 || share > 0.9)
        return r < 0 ? r : -ERANGE;
    options->interference = share;
    options->modelled = true;
    return 0;
}

static int take_seed(void *at, char *value, const struct nm_option *o)
{
    struct nm_sim_options *options = at;

    options->made_up = true;
    return nm_option_take_u64(&options->params.seed, value, o);
}

/* Takes a number of hours, such as "0.5" or "24", or a duration with a unit. */
static int take_hours(void *at, char *value, const struct nm_option *o)
{
    struct nm_sim_options *options = at;
    char text[64];
    bool bare = *value && !strpbrk(value, "usminhd");

    options->made_up = true;
    /* truncate the number before the unit is appended, so that the unit of a long number isn't truncated */
    (void)snprintf(text, sizeof text, "%.40s%s", value, bare ? "h" : "");
    return nm_option_take_duration(&options->params.duration_usec, text, o);
}

static int take_memory(void *at, char *value, const struct nm_option *o)
{
    struct nm_sim_options *options = at;

    options->made_up = true;
    return nm_option_take_size(&options->params.memory_bytes, value, o);
}

static int take_cpus(void *at, char *value, const struct nm_option *o)
{
    struct nm_sim_options *options = at;

    options->made_up = true;
    return nm_option_take_u32(&options->params.n_cpus, value, o);
}

static int take_containers(void *at, char *value, const struct nm_option *o)
{
    struct nm_sim_options *options = at;

    options->made_up = true;
    return nm_option_take_u32(&options->params.services, value, o);
}

#define AT(member) offsetof(struct nm_sim_options, member)

static const struct nm_option_type words = {take_word, NULL, 0, NM_SIM_WORDS_MAX};

static const struct nm_option table[] = {
    NM_OPTION_VALUE('g', "generate", "KIND", NM_OPTION_TYPE(take_generate, KINDS), 0),
    NM_OPTION_VALUE('c', "config", "FILE", &words, AT(configs)),
    NM_OPTION_VALUE('s', "set", "KEY=VALUE", &words, AT(set)),
    NM_OPTION_VALUE('\0', "case", "SPEC", &words, AT(cases)),
    NM_OPTION_VALUE('\0', "sweep", "SPEC", &words, AT(sweeps)),
    NM_OPTION_VALUE('p', "plot", "FILE", &nm_option_any, AT(plot)),
    NM_OPTION_FLAG('j', "json", AT(json)),
    NM_OPTION_FLAG('\0', "jobs", AT(jobs)),
    NM_OPTION_VALUE('\0', "interference", "F",
                    NM_OPTION_TYPE(take_interference, "a fraction or percentage from 0 to 0.9"), 0),
    NM_OPTION_VALUE('\0', "seed", "N", NM_OPTION_RANGE(take_seed, "a whole number", 0, UINT64_MAX), 0),
    NM_OPTION_VALUE('\0', "hours", "H",
                    NM_OPTION_RANGE(take_hours, "from 1min to 744 (31 days)", 60 * NM_USEC_PER_SEC,
                                    UINT64_C(31) * 86400 * NM_USEC_PER_SEC), 0),
    NM_OPTION_VALUE('\0', "memory", "SIZE",
                    NM_OPTION_RANGE(take_memory, "a size from 1G to 1024T", UINT64_C(1) << 30, UINT64_C(1) << 50), 0),
    NM_OPTION_VALUE('\0', "cpus", "N", NM_OPTION_RANGE(take_cpus, "a whole number from 1 to 4096", 1, 4096), 0),
    NM_OPTION_VALUE('\0', "containers", "N",
                    NM_OPTION_RANGE(take_containers, "a whole number from 1 to 10000", 1, 10000), 0),
    NM_OPTION_VALUE('o', "output", "FILE", &nm_option_any, AT(output)),
    NM_OPTION_PRINT('h', "help", help),
    NM_OPTION_PRINT('V', "version", "nmsim " NM_VERSION "\n"),
    {0},
};

/* Refuses missing options, and combinations that have no meaning. */
static int check(const struct nm_sim_options *o)
{
    bool compare = o->verb == NM_SIM_COMPARE, generate = o->verb == NM_SIM_GENERATE;

    if (generate && !o->generate)
        return nm_usage_error("generate: a kind is missing: steady, diurnal, bursty or adversarial");
    if (generate && (o->configs.n || o->cases.n || o->sweeps.n || o->set.n || o->plot || o->json ||
                     o->jobs || o->modelled || o->trace))
        return nm_usage_error("generate takes --seed, --hours, --memory, --cpus, --containers and "
                              "--output only");
    if (!generate && o->output)
        return nm_usage_error("--output is only allowed with the command generate. To write a picture, use "
                              "--plot FILE.");
    if (!generate && !o->trace && !o->generate)
        return nm_usage_error("%s: name a trace (nmd --record FILE writes one; '-' is standard input), "
                              "or --generate bursty",
                              compare ? "compare" : "run");
    if (o->trace && o->generate)
        return nm_usage_error("'%s' and --generate can't be combined: use a trace or a made-up workload", o->trace);
    /* Also refuse options that would have no effect, because the user expects an effect. */
    if (o->trace && o->made_up)
        return nm_usage_error("--seed, --hours, --memory, --cpus and --containers are for made-up "
                              "workloads, and '%s' is a trace",
                              o->trace);
    if (!compare && (o->cases.n || o->sweeps.n))
        return nm_usage_error("--case and --sweep need the command compare");
    if (!compare && o->configs.n > 1)
        return nm_usage_error("run takes one --config; compare takes several");
    if (compare && o->jobs)
        return nm_usage_error("--jobs needs the command run");
    if (o->jobs && o->json)
        return nm_usage_error("--jobs and --json can't be combined");
    return 0;
}

static int take_verb(const char *word, enum nm_sim_verb *ret)
{
    static const char *const verbs[] = {
        [NM_SIM_RUN] = "run", [NM_SIM_COMPARE] = "compare", [NM_SIM_GENERATE] = "generate"};

    for (size_t i = 0; i < NM_ARRAY_SIZE(verbs); i++)
        if (nm_streq(verbs[i], word)) {
            *ret = (enum nm_sim_verb)i;
            return 0;
        }
    return nm_usage_error("'%s' is not a command: use run, compare or generate", word);
}

static int take_operands(char **operands, struct nm_sim_options *o)
{
    int r;

    if (!*operands)
        return nm_usage_error("a command is missing: run, compare or generate");
    r = take_verb(*operands++, &o->verb);
    if (r >= 0 && *operands && o->verb == NM_SIM_GENERATE) {
        if (take_kind(o, *operands) < 0)
            return nm_usage_error("'%s': a made-up workload is " KINDS, *operands);
        operands++;
    } else if (r >= 0 && *operands) {
        o->trace = *operands++;
    }
    if (r >= 0 && *operands)
        return nm_usage_error("unexpected operand '%s'", *operands);
    return r;
}

int nm_sim_parse_argv(int argc, char **argv, struct nm_sim_options *ret)
{
    struct nm_sim_options o = {.params = NM_GENERATE_DEFAULTS, .interference = NM_SIM_INTERFERENCE};
    const struct nm_option_parser p = {.tables = {{table, &o}}};
    int r, first;

    /* a user who gives no arguments gets the help, and nmsim exits with success */
    if (argc < 2) {
        (void)fputs(help, stdout);
        return 1;
    }
    r = nm_option_parse(&p, argc, argv, &first);
    if (r != 0)
        return r;
    r = take_operands(argv + first, &o);
    if (r >= 0)
        r = check(&o);
    if (r < 0)
        return r;
    *ret = o;
    return 0;
}
