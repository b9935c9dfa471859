/* SPDX-License-Identifier: Apache-2.0 */

/* See report.h. The parser is expat, as for the cluster's files (conf-xml.c). It loads no external DTD, and this code
 * stops it at the first declaration of an entity, so that a small report can't expand to a large text. */

#include "yarn/gpu/report.h"

#include <expat.h>

#include "util/error.h"
#include "util/parse.h"

#define DEPTH_MAX 32u
#define DIGITS_MAX 8u
#define BLANKS " \t\r\n"

/* depth of the elements that this code reads */
enum { ROOT = 1, GPU, MINOR };

struct nm_yarn_gpu_report {
    XML_Parser parser;
    unsigned depth;
    bool in_log, in_gpu, in_minor;
    bool has_minor;               /* the current GPU has a minor number */
    char digits[DIGITS_MAX + 1];  /* text of the element minor_number */
    size_t n_digits;
    struct nm_yarn_gpu list[NM_YARN_GPUS_MAX];
    size_t n;
    const char *why; /* why the report is refused; NULL: it isn't */
};

static void refuse(struct nm_yarn_gpu_report *r, const char *why)
{
    if (!r->why)
        r->why = why;
    (void)XML_StopParser(r->parser, XML_FALSE);
}

/* ---- elements ----------------------------------------------------------------------------- */

static void begin_gpu(struct nm_yarn_gpu_report *r)
{
    if (r->n == NM_YARN_GPUS_MAX) {
        refuse(r, "it has more than 64 GPUs");
        return;
    }
    r->in_gpu = true;
    r->has_minor = false;
}

static void XMLCALL on_begin(void *userdata, const XML_Char *name, const XML_Char **attributes)
{
    struct nm_yarn_gpu_report *r = userdata;

    (void)attributes;
    if (++r->depth > DEPTH_MAX)
        refuse(r, "its elements are nested too deeply");
    else if (r->depth == ROOT)
        r->in_log = nm_streq(name, "nvidia_smi_log");
    else if (r->depth == GPU && r->in_log && nm_streq(name, "gpu"))
        begin_gpu(r);
    else if (r->depth == MINOR && r->in_gpu && nm_streq(name, "minor_number")) {
        r->in_minor = true;
        r->n_digits = 0;
    }
}

static void XMLCALL on_text(void *userdata, const XML_Char *text, int size)
{
    struct nm_yarn_gpu_report *r = userdata;

    if (!r->in_minor || r->depth != MINOR)
        return;
    for (int i = 0; i < size; i++) {
        if (strchr(BLANKS, text[i]))
            continue;
        if (r->n_digits == DIGITS_MAX) {
            refuse(r, "a minor number is too long");
            return;
        }
        r->digits[r->n_digits++] = text[i];
    }
}

static void end_minor(struct nm_yarn_gpu_report *r)
{
    uint64_t minor;

    r->in_minor = false;
    r->digits[r->n_digits] = '\0';
    if (r->has_minor || nm_parse_u64(r->digits, &minor) < 0 || minor >= NM_YARN_GPUS_MAX) {
        refuse(r, "a GPU has no minor number from 0 to 63");
        return;
    }
    for (size_t i = 0; i < r->n; i++) {
        if (r->list[i].minor == minor) {
            refuse(r, "two GPUs have the same minor number");
            return;
        }
    }
    r->list[r->n] = (struct nm_yarn_gpu){.index = (uint8_t)r->n, .minor = (uint8_t)minor};
    r->has_minor = true;
}

static void end_gpu(struct nm_yarn_gpu_report *r)
{
    r->in_gpu = false;
    if (r->has_minor)
        r->n++;
    else
        refuse(r, "a GPU has no minor number from 0 to 63");
}

static void XMLCALL on_end(void *userdata, const XML_Char *name)
{
    struct nm_yarn_gpu_report *r = userdata;

    (void)name;
    if (r->depth == MINOR && r->in_minor)
        end_minor(r);
    else if (r->depth == GPU && r->in_gpu)
        end_gpu(r);
    r->depth--;
}

static void XMLCALL on_entity(void *userdata, const XML_Char *name, int is_parameter, const XML_Char *value, int size,
                              const XML_Char *base, const XML_Char *system, const XML_Char *public,
                              const XML_Char *notation)
{
    (void)name, (void)is_parameter, (void)value, (void)size, (void)base, (void)system, (void)public, (void)notation;
    refuse(userdata, "it declares an entity");
}

/* ---- the report --------------------------------------------------------------------------- */

int nm_yarn_gpu_report_new(struct nm_yarn_gpu_report **ret)
{
    struct nm_yarn_gpu_report *r = calloc(1, sizeof *r);

    if (r)
        r->parser = XML_ParserCreate(NULL);
    if (!r || !r->parser) {
        free(r);
        return -ENOMEM;
    }
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, on_begin, on_end);
    XML_SetCharacterDataHandler(r->parser, on_text);
    XML_SetEntityDeclHandler(r->parser, on_entity);
    *ret = r;
    return 0;
}

struct nm_yarn_gpu_report *nm_yarn_gpu_report_free(struct nm_yarn_gpu_report *r)
{
    if (!r)
        return NULL;
    XML_ParserFree(r->parser);
    free(r);
    return NULL;
}

static void parse(struct nm_yarn_gpu_report *r, const char *text, size_t size, bool is_last)
{
    if (r->why || XML_Parse(r->parser, text, (int)size, is_last) == XML_STATUS_OK || r->why)
        return;
    r->why = XML_GetErrorCode(r->parser) == XML_ERROR_NO_MEMORY ? "" : "it is not well-formed XML";
}

void nm_yarn_gpu_report_add(struct nm_yarn_gpu_report *r, const char *text, size_t size)
{
    parse(r, text, size, false);
}

int nm_yarn_gpu_report_end(struct nm_yarn_gpu_report *r, struct nm_yarn_gpu *list, size_t *ret_n, const char **ret_why)
{
    parse(r, "", 0, true);
    if (!r->why && !r->in_log)
        r->why = "it is not a report of nvidia-smi";
    if (r->why && !*r->why)
        return -ENOMEM;
    if (r->why) {
        *ret_why = r->why;
        return -EBADMSG;
    }
    memcpy(list, r->list, r->n * sizeof *list);
    *ret_n = r->n;
    return 0;
}
