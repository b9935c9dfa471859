/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See trace.h. A line is built in a buffer that nm_trace_reserve() has made large enough. jansson is not used, because
 * lines are written in the middle of a round and, on a node with a thousand busy containers, a line has a row for each
 * container. If a line does not fit, only that line is dropped.
 */

#include "agent/trace.h"

#include <assert.h>

#include "agent/config/config-keys.h"
#include "util/json-text.h"

/* The longest line without rows, and the longest row: five numbers of 20 digits. */
#define LINE_MAX 1024
#define ROW_MAX 112

/* ---- the header ---------------------------------------------------------- */

/* Returns false for sections with paths, users and addresses: they do not affect decisions, and recipients of a trace
 * need not see them. */
bool nm_trace_has_section(const char *section)
{
    static const char *const deciding[] = {"node", "over-allocation", "queue", "preemption",
                                           "sampling"};

    for (size_t i = 0; i < NM_ARRAY_SIZE(deciding); i++)
        if (nm_streq(section, deciding[i]))
            return true;
    return false;
}

/* Includes every key that affects decisions, even at its default: a later nmsim may have other defaults. */
static json_t *config_to_json(const struct nm_config *c)
{
    json_auto_t *j = json_object();

    for (size_t i = 0; i < nm_config_n_keys; i++) {
        const struct nm_config_key *k = &nm_config_keys[i];
        char name[96], value[NM_CONFIG_VALUE_SIZE];

        if (!nm_trace_has_section(k->section))
            continue;
        (void)snprintf(name, sizeof name, "%s.%s", k->section, k->name);
        if (json_object_set_new(j, name, json_string(nm_config_get(c, k, value, sizeof value))) < 0)
            return NULL;
    }
    return STEAL_PTR(j);
}

static json_t *features_to_json(const struct nm_trace_header *h)
{
    json_auto_t *j = json_array();

    for (int f = 0; f < NM_CGROUP_FEATURE_COUNT; f++)
        if (h->feature[f] &&
            json_array_append_new(j, json_string(nm_cgroup_feature_name((enum nm_cgroup_feature)f))) < 0)
            return NULL;
    return STEAL_PTR(j);
}

/* Prints the header. Uses jansson, since a recording has only one header. */
int nm_trace_header_text(const struct nm_trace_header *h, const struct nm_config *c, char **ret)
{
    json_t *j = json_pack("{s:i, s:s, s:s, s:I, s:I, s:{s:I, s:i, s:I}, s:o, s:o}", "nmd_trace",
                          NM_TRACE_VERSION, "made_by", "nmd " NM_VERSION, "host", h->host,
                          "recorded_usec", (json_int_t)h->recorded_usec, "period_usec",
                          (json_int_t)h->period_usec, "node", "memory_bytes",
                          (json_int_t)h->memory_bytes, "cpus", (int)h->n_cpus, "swap_bytes",
                          (json_int_t)h->swap_bytes, "features", features_to_json(h), "config",
                          config_to_json(c));
    _cleanup_free_ char *text = nm_json_text(j, JSON_COMPACT);
    char *line;

    assert(h && c && ret);
    json_decref(j);
    if (!text || asprintf(&line, "%s\n", text) < 0)
        return -ENOMEM;
    *ret = line;
    return 0;
}

/* ---- lines --------------------------------------------------------------- */

int nm_trace_reserve(struct nm_trace_buffer *b, size_t filled, size_t n_rows)
{
    size_t size = filled + LINE_MAX + n_rows * ROW_MAX;
    char *text;

    assert(filled <= b->size || b->size == 0);
    if (size <= b->size)
        return 0;
    text = realloc(b->text, size + size / 2);
    if (!text)
        return -ENOMEM;
    b->text = text;
    b->size = size + size / 2;
    return 0;
}

void nm_trace_buffer_done(struct nm_trace_buffer *b)
{
    free(b->text);
    *b = (struct nm_trace_buffer){0};
}

static void put_text(struct nm_trace_buffer *b, const char *text, size_t n)
{
    assert(b->len <= b->size);
    if (b->too_long || n > b->size - b->len) {
        b->too_long = true;
        return;
    }
    memcpy(b->text + b->len, text, n);
    b->len += n;
}

static void put_string(struct nm_trace_buffer *b, const char *text)
{
    put_text(b, text, strlen(text));
}

/* Formats the number without snprintf(), for speed: a sample may have thousands of numbers. */
static void put_number(struct nm_trace_buffer *b, uint64_t number)
{
    char digits[20], *p = digits + sizeof digits;

    do {
        *--p = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put_text(b, p, (size_t)(digits + sizeof digits - p));
}

static void put_name(struct nm_trace_buffer *b, const char *name)
{
    put_string(b, ",\"");
    put_string(b, name);
    put_string(b, "\":");
}

/* Records where the line begins, so that nm_trace_end() can drop a line that does not fit. */
void nm_trace_begin(struct nm_trace_buffer *b, uint64_t at_usec, const char *event)
{
    assert(event && *event);
    b->line = b->len;
    b->too_long = false;
    put_string(b, "{\"t\":");
    put_number(b, at_usec);
    nm_trace_put_word(b, "ev", event);
}

void nm_trace_put(struct nm_trace_buffer *b, const char *name, uint64_t number)
{
    put_name(b, name);
    put_number(b, number);
}

/* Words and names contain only characters that need no escaping (nm_name_is_valid()). */
void nm_trace_put_word(struct nm_trace_buffer *b, const char *name, const char *word)
{
    put_name(b, name);
    put_string(b, "\"");
    put_string(b, word);
    put_string(b, "\"");
}

void nm_trace_put_flag(struct nm_trace_buffer *b, const char *name)
{
    put_name(b, name);
    put_string(b, "true");
}

void nm_trace_begin_rows(struct nm_trace_buffer *b, const char *name)
{
    put_name(b, name);
    put_string(b, "[");
}

void nm_trace_put_row(struct nm_trace_buffer *b, const uint64_t *numbers, size_t n)
{
    bool first = b->len > 0 && b->text[b->len - 1] == '[';

    assert(n > 0);
    put_string(b, first ? "[" : ",[");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            put_string(b, ",");
        put_number(b, numbers[i]);
    }
    put_string(b, "]");
}

void nm_trace_end_rows(struct nm_trace_buffer *b)
{
    put_string(b, "]");
}

void nm_trace_end(struct nm_trace_buffer *b)
{
    assert(b->line <= b->len);
    put_string(b, "}\n");
    if (b->too_long)
        b->len = b->line;
}

void nm_trace_begin_submit(struct nm_trace_buffer *b, uint64_t at_usec, const struct nm_policy_container *v,
                           const char *name, const char *app, uint64_t ran_usec)
{
    assert(name && app);
    nm_trace_begin(b, at_usec, "submit");
    nm_trace_put(b, "c", v->seq);
    nm_trace_put_word(b, "type", nm_execution_type_name(v->type));
    nm_trace_put(b, "memory", v->request.memory_bytes);
    nm_trace_put(b, "cpu", v->request.cpu_millicores);
    if (*name)
        nm_trace_put_word(b, "name", name);
    if (*app)
        nm_trace_put_word(b, "app", app);
    if (v->min_runtime_usec > 0)
        nm_trace_put(b, "min_runtime", v->min_runtime_usec);
    if (v->expected_usec > 0)
        nm_trace_put(b, "expected", v->expected_usec);
    if (v->exempt)
        nm_trace_put_flag(b, "exempt");
    if (v->cpu_is_share)
        nm_trace_put_flag(b, "share");
    if (ran_usec != UINT64_MAX)
        nm_trace_put(b, "ran", ran_usec);
}
