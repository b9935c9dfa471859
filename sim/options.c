/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See options.h. Options may stand before the command, behind it and behind the trace, as getopt_long()
 * allows. So they are all taken first, each by itself; what goes with what is asked in the end, when
 * the command is known.
 */

#include "sim/options.h"

#include <getopt.h>
#include <inttypes.h>

#include "util/parse.h"
#include "util/diag.h"

static void usage(FILE *f)
{
    fputs(
        "Usage: nmsim COMMAND [OPTION]...\n"
        "Replay what a node went through, or a made-up day, under other settings of nmd.\n"
        "\n"
        "  nmsim compare --generate bursty          several configurations on a made-up day\n"
        "  nmsim compare node.trace --case 'bold: alpha=0.9, beta=0.98' --plot bold.svg\n"
        "                                           your own history (nmd --record node.trace)\n"
        "  nmsim run node.trace --config new.conf   one configuration, in detail\n"
        "\n"
        "Commands:\n"
        "  run TRACE          one replay\n"
        "  compare TRACE      several beside each other, and with over-allocation off\n"
        "  generate KIND      write a made-up trace: steady, diurnal, bursty or adversarial\n"
        "\n"
        "Options of run and compare:\n"
        "  -g, --generate KIND  a made-up workload instead of a trace\n"
        "  -c, --config FILE    nmd.conf, with drop-ins in FILE.d/ (compare: one row for each);\n"
        "                       without: as recorded in the trace, or the defaults\n"
        "  -s, --set KEY=VALUE  change one key everywhere, such as preemption.victim-order=app-fair;\n"
        "                       alpha=, beta= and victims= for short\n"
        "      --case SPEC      compare: one more row, 'name: KEY=VALUE, KEY=VALUE'\n"
        "      --sweep SPEC     compare: a row for each of KEY=VALUE,VALUE,...; several: each with each\n"
        "  -p, --plot FILE      draw it, as .svg or .png (needs gnuplot)\n"
        "  -j, --json           print JSON\n"
        "      --jobs           run: print what became of each job, one a line\n"
        "      --interference F how much slower guaranteed containers are beside a node full of others,\n"
        "                       for caches and shared cores: 0 to 0.9 (default 0.05)\n"
        "\n"
        "Options of made-up workloads:\n"
        "      --seed N         another one of the kind (default 1)\n"
        "      --hours H        how long (default 24)\n"
        "      --memory SIZE    of the node (default 64G)\n"
        "      --cpus N         of the node (default 16)\n"
        "      --containers N   guaranteed services on it (default 24); jobs in proportion\n"
        "  -o, --output FILE    generate: write it here instead of to standard output\n"
        "\n"
        "  -h, --help           this text\n"
        "  -V, --version        the version\n",
        f);
}

/* Without a letter: beyond any character, with which getopt_long() answers for the others. */
enum {
    OPT_CASE = 256,
    OPT_SWEEP,
    OPT_JOBS,
    OPT_INTERFERENCE,
    OPT_SEED,
    OPT_HOURS,
    OPT_MEMORY,
    OPT_CPUS,
    OPT_CONTAINERS
};

static const struct option long_options[] = {
    {"generate", required_argument, NULL, 'g'},
    {"config", required_argument, NULL, 'c'},
    {"set", required_argument, NULL, 's'},
    {"case", required_argument, NULL, OPT_CASE},
    {"sweep", required_argument, NULL, OPT_SWEEP},
    {"plot", required_argument, NULL, 'p'},
    {"json", no_argument, NULL, 'j'},
    {"jobs", no_argument, NULL, OPT_JOBS},
    {"interference", required_argument, NULL, OPT_INTERFERENCE},
    {"seed", required_argument, NULL, OPT_SEED},
    {"hours", required_argument, NULL, OPT_HOURS},
    {"memory", required_argument, NULL, OPT_MEMORY},
    {"cpus", required_argument, NULL, OPT_CPUS},
    {"containers", required_argument, NULL, OPT_CONTAINERS},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {0},
};

static int take_word(struct nm_sim_words *w, const char *option, const char *word)
{
    if (w->n == NM_SIM_WORDS_MAX)
        return nm_usage_error("--%s is given more than %d times", option, NM_SIM_WORDS_MAX);
    w->list[w->n++] = word;
    return 0;
}

/* From --generate or as the operand of `generate`: it means the same. */
static int take_kind(struct nm_sim_options *o, const char *word)
{
    if (nm_generate_kind_from_string(word, &o->params.kind) < 0)
        return nm_usage_error("'%s': a made-up workload is steady, diurnal, bursty or adversarial", word);
    o->generate = true;
    return 0;
}

static int take_count(const char *option, const char *word, uint64_t most, uint32_t *ret)
{
    uint64_t n;

    if (nm_parse_u64(word, &n) < 0 || n < 1 || n > most)
        return nm_usage_error("--%s '%s': it must be a whole number from 1 to %" PRIu64, option, word,
                              most);
    *ret = (uint32_t)n;
    return 0;
}

/* "0.5", "24", or with a unit as durations have it. */
static int take_hours(struct nm_sim_options *o, const char *word)
{
    char text[64];
    bool bare = *word && !strpbrk(word, "usminhd");
    int r;

    /* cut before the unit is put behind it, or a long number would lose its unit */
    (void)snprintf(text, sizeof text, "%.40s%s", word, bare ? "h" : "");
    r = nm_parse_duration(text, &o->params.duration_usec);
    if (r < 0 || o->params.duration_usec < 60 * NM_USEC_PER_SEC ||
        o->params.duration_usec > UINT64_C(31) * 86400 * NM_USEC_PER_SEC)
        return nm_usage_error("--hours '%s': it must be from 1min to 744 (31 days)", word);
    return 0;
}

static int take_memory(struct nm_sim_options *o, const char *word)
{
    if (nm_parse_size(word, &o->params.memory_bytes) < 0 ||
        o->params.memory_bytes < UINT64_C(1) << 30 || o->params.memory_bytes > UINT64_C(1) << 50)
        return nm_usage_error("--memory '%s': it must be a size from 1G to 1024T", word);
    return 0;
}

static int take_interference(struct nm_sim_options *o, const char *word)
{
    if (nm_parse_fraction(word, &o->interference) < 0 || o->interference > 0.9)
        return nm_usage_error("--interference '%s': it must be a fraction or percentage from 0 to 0.9", word);
    o->modelled = true;
    return 0;
}

static int take_option(int c, struct nm_sim_options *o)
{
    switch (c) {
    case 'g':
        return take_kind(o, optarg);
    case 'c':
        return take_word(&o->configs, "config", optarg);
    case 's':
        return take_word(&o->set, "set", optarg);
    case OPT_CASE:
        return take_word(&o->cases, "case", optarg);
    case OPT_SWEEP:
        return take_word(&o->sweeps, "sweep", optarg);
    case 'p':
        o->plot = optarg;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case OPT_JOBS:
        o->jobs = true;
        return 0;
    case OPT_INTERFERENCE:
        return take_interference(o, optarg);
    case OPT_SEED:
        o->made_up = true;
        if (nm_parse_u64(optarg, &o->params.seed) < 0)
            return nm_usage_error("--seed '%s': it must be a whole number", optarg);
        return 0;
    case OPT_HOURS:
        o->made_up = true;
        return take_hours(o, optarg);
    case OPT_MEMORY:
        o->made_up = true;
        return take_memory(o, optarg);
    case OPT_CPUS:
        o->made_up = true;
        return take_count("cpus", optarg, 4096, &o->params.n_cpus);
    case OPT_CONTAINERS:
        o->made_up = true;
        return take_count("containers", optarg, 10000, &o->params.services);
    case 'o':
        o->output = optarg;
        return 0;
    default:
        fputs("Try 'nmsim --help'.\n", stderr);
        return -EINVAL;
    }
}

/* What makes no sense together. */
static int check(const struct nm_sim_options *o)
{
    bool compare = o->verb == NM_SIM_COMPARE, generate = o->verb == NM_SIM_GENERATE;

    if (generate && !o->generate)
        return nm_usage_error("generate: it needs a kind: steady, diurnal, bursty or adversarial");
    if (generate && (o->configs.n || o->cases.n || o->sweeps.n || o->set.n || o->plot || o->json ||
                     o->jobs || o->modelled || o->trace))
        return nm_usage_error("generate takes --seed, --hours, --memory, --cpus, --containers and "
                              "--output only");
    if (!generate && o->output)
        return nm_usage_error("--output goes with generate; --plot names the picture");
    if (!generate && !o->trace && !o->generate)
        return nm_usage_error("%s: name a trace (nmd --record FILE writes one; '-' is standard input), "
                              "or --generate bursty",
                              compare ? "compare" : "run");
    if (o->trace && o->generate)
        return nm_usage_error("'%s' and --generate: either a trace or a made-up workload", o->trace);
    /* Options that are without effect are refused, too: who gives one believes that it has one. */
    if (o->trace && o->made_up)
        return nm_usage_error("--seed, --hours, --memory, --cpus and --containers are for made-up "
                              "workloads, and '%s' is a trace",
                              o->trace);
    if (!compare && (o->cases.n || o->sweeps.n))
        return nm_usage_error("--case and --sweep go with compare");
    if (!compare && o->configs.n > 1)
        return nm_usage_error("run takes one --config; compare takes several");
    if (compare && o->jobs)
        return nm_usage_error("--jobs goes with run");
    if (o->jobs && o->json)
        return nm_usage_error("--jobs and --json: either one or the other");
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
    return nm_usage_error("'%s': the commands are run, compare and generate", word);
}

static int take_operands(int argc, char **argv, struct nm_sim_options *o)
{
    int r;

    if (optind == argc)
        return nm_usage_error("a command is missing: run, compare or generate");
    r = take_verb(argv[optind++], &o->verb);
    if (r >= 0 && optind < argc) {
        if (o->verb == NM_SIM_GENERATE)
            r = take_kind(o, argv[optind++]);
        else
            o->trace = argv[optind++];
    }
    if (r >= 0 && optind < argc)
        return nm_usage_error("'%s': there is one operand too many", argv[optind]);
    return r;
}

int nm_sim_parse_argv(int argc, char **argv, struct nm_sim_options *ret)
{
    struct nm_sim_options o = {.params = NM_GENERATE_DEFAULTS, .interference = NM_SIM_INTERFERENCE};
    int c, r;

    /* who calls it bare wants to know what it is, and has done nothing wrong */
    if (argc < 2) {
        usage(stdout);
        return 1;
    }
    while ((c = getopt_long(argc, argv, "g:c:s:p:jo:hV", long_options, NULL)) >= 0) {
        if (c == 'h') {
            usage(stdout);
            return 1;
        }
        if (c == 'V') {
            puts("nmsim " NM_VERSION);
            return 1;
        }
        r = take_option(c, &o);
        if (r < 0)
            return r;
    }
    r = take_operands(argc, argv, &o);
    if (r >= 0)
        r = check(&o);
    if (r < 0)
        return r;
    *ret = o;
    return 0;
}
