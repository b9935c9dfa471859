/* SPDX-License-Identifier: Apache-2.0 */

/* See slot-file.h. Enumerations are written as words and not as numbers, so that another version can read the values
 * that it knows. */

#include "agent/journal/slot-file.h"

#include <assert.h>
#include <inttypes.h>

#include "agent/state/manager-state.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/parse.h"

#define HEAD "nm-event-1"
#define BODY_BYTES (NM_EVENT_SLOT_BYTES - NM_SLOT_SUM_BYTES)

static const char *const kinds[] = {
    [NM_EVENT_STATE] = "state", [NM_EVENT_DECISION] = "decision", [NM_EVENT_NODE] = "node"};

static const char *or_dash(const char *s)
{
    return *s ? s : "-";
}

/* The text comes last and ends at the first padding zero or at the end of the slot, so it may contain any other
 * character. */
void nm_event_print(const struct nm_event_record *e, char slot[NM_EVENT_SLOT_BYTES])
{
    char body[BODY_BYTES] = "";

    assert(e->number > 0 && (size_t)e->kind < NM_ARRAY_SIZE(kinds));
    (void)snprintf(body, sizeof body,
                   HEAD " %" PRIu64 " %" PRIu64 " %s %s %s %" PRIu64 " %s %s %s %" PRIu64 " %s\n%s", e->number,
                   e->realtime_usec, kinds[e->kind], or_dash(e->container_id), or_dash(e->container_name),
                   (uint64_t)e->submitter_uid, nm_execution_type_name(e->type), nm_state_name(e->from),
                   nm_state_name(e->to), e->decision_number, nm_decision_kind_name(e->decision_kind), e->text);
    nm_slot_seal(body, slot, NM_EVENT_SLOT_BYTES);
}

enum word { HEAD_WORD, NUMBER, TIME, KIND, ID, NAME, UID, TYPE, FROM, TO, DECISION, DECISION_KIND, N_WORDS };

static int take_name(const char *word, bool (*is_valid)(const char *), char *ret, size_t size)
{
    if (nm_streq(word, "-"))
        return 0;
    return is_valid(word) && (size_t)snprintf(ret, size, "%s", word) < size ? 0 : -EBADMSG;
}

static int take_words(char *const w[N_WORDS], struct nm_event_record *e)
{
    uint64_t uid;

    if (!nm_streq(w[HEAD_WORD], HEAD) || nm_parse_u64(w[NUMBER], &e->number) < 0 || e->number == 0 ||
        e->number >= INT64_MAX || nm_parse_u64(w[TIME], &e->realtime_usec) < 0 ||
        NM_PARSE_NAME(kinds, w[KIND], &e->kind) < 0 ||
        take_name(w[ID], nm_id_is_valid, e->container_id, sizeof e->container_id) < 0 ||
        take_name(w[NAME], nm_name_is_valid, e->container_name, sizeof e->container_name) < 0 ||
        nm_parse_u64(w[UID], &uid) < 0 || uid > UINT32_MAX || nm_execution_type_from_string(w[TYPE], &e->type) < 0 ||
        nm_state_from_string(w[FROM], &e->from) < 0 || nm_state_from_string(w[TO], &e->to) < 0 ||
        nm_parse_u64(w[DECISION], &e->decision_number) < 0 ||
        nm_decision_kind_from_string(w[DECISION_KIND], &e->decision_kind) < 0)
        return -EBADMSG;
    e->submitter_uid = (uid_t)uid;
    return 0;
}

int nm_event_parse_body(char *body, struct nm_event_record *ret)
{
    char *words[N_WORDS], *end = strchr(body, '\n'), *save = NULL;
    struct nm_event_record e = {0};

    if (!end)
        return -EBADMSG;
    *end = '\0';
    for (size_t i = 0; i < N_WORDS; i++)
        if (!(words[i] = strtok_r(i == 0 ? body : NULL, " ", &save)))
            return -EBADMSG;
    if (take_words(words, &e) < 0 || strlen(end + 1) >= sizeof e.text)
        return -EBADMSG;
    strcpy(e.text, end + 1);
    *ret = e;
    return 0;
}

int nm_event_parse(const char slot[NM_EVENT_SLOT_BYTES], struct nm_event_record *ret)
{
    char body[BODY_BYTES + 1];

    return nm_slot_open(slot, NM_EVENT_SLOT_BYTES, body) ? nm_event_parse_body(body, ret) : -EBADMSG;
}

/* Loads the slots. A slot that contains the number of another slot was written by another program. The same is true of
 * slots whose numbers are not adjacent to the newest number. Readers skip such slots, since they look for each number
 * in its own slot. */
static uint64_t load(int fd, struct nm_event_record *ring)
{
    char slot[NM_EVENT_SLOT_BYTES];
    struct nm_event_record e;
    uint64_t newest = 0;

    for (unsigned i = 0; i < NM_EVENT_RING; i++) {
        ssize_t n = pread(fd, slot, sizeof slot, (off_t)i * NM_EVENT_SLOT_BYTES);

        if (n != (ssize_t)sizeof slot || nm_event_parse(slot, &e) < 0 || e.number % NM_EVENT_RING != i)
            continue;
        ring[i] = e;
        newest = NM_MAX(newest, e.number);
    }
    return newest;
}

int nm_event_file_open(const char *state_dir, struct nm_event_record *ring, uint64_t *ret_next)
{
    int fd = nm_slot_file_open(state_dir, "events");

    if (fd >= 0)
        *ret_next = load(fd, ring) + 1;
    return fd;
}

int nm_event_file_put(int fd, const struct nm_event_record *e)
{
    char slot[NM_EVENT_SLOT_BYTES];

    nm_event_print(e, slot);
    return nm_pwrite_all(fd, slot, sizeof slot, (off_t)(e->number % NM_EVENT_RING) * NM_EVENT_SLOT_BYTES);
}
