/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The labels and attributes that the node reports to its ResourceManager. The first registration waits for the first
 * run of the scripts: a node that registers without its label would get containers of another partition. Hadoop's
 * NodeManager waits as long as the script's time-out allows, which is 20 minutes by default. Here the wait is bounded,
 * because the ResourceManager gives up a restarted node whose heartbeats are missing for 10 minutes. After the wait the
 * node registers without the field, and the ResourceManager keeps the label that it knows.
 */

#include "yarn/yarn-state.h"

#include <syslog.h>

#include "util/clock.h"

#define WAIT_USEC (60 * NM_USEC_PER_SEC)

static const char *const kind_names[NM_YARN_N_DESCRIPTOR_KINDS] = {"node label", "node attributes"};

/* ---- life cycle --------------------------------------------------------------------------- */

int nm_yarn_labels_check(const struct nm_yarn_settings *settings, struct nm_refusals *refusals)
{
    int r = 0;

    for (unsigned kind = 0; r == 0 && kind < NM_YARN_N_DESCRIPTOR_KINDS; kind++) {
        char *message = NULL;

        r = nm_yarn_provider_check(kind, settings, &message);
        r = nm_refusals_add(refusals, r, message);
    }
    return r;
}

/* Reports a problem of a provider once, and its end. */
static void report_trouble(struct nm_yarn *y, unsigned kind)
{
    struct nm_yarn_described *d = &y->described[kind];
    const char *trouble = nm_yarn_provider_trouble(d->provider);
    char text[500];

    if (nm_streq(trouble, d->trouble))
        return;
    if (*trouble)
        (void)snprintf(text, sizeof text, "no new %s: %s; the node keeps what it has reported", kind_names[kind],
                       trouble);
    else
        (void)snprintf(text, sizeof text, "the provider of the %s works again", kind_names[kind]);
    (void)snprintf(d->trouble, sizeof d->trouble, "%s", trouble);
    nm_manager_report_event(y->manager, *trouble ? LOG_WARNING : LOG_INFO, text);
}

void nm_yarn_labels_report_troubles(struct nm_yarn *y)
{
    for (unsigned kind = 0; kind < NM_YARN_N_DESCRIPTOR_KINDS; kind++)
        if (y->described[kind].provider)
            report_trouble(y, kind);
}

int nm_yarn_labels_new(struct nm_yarn *y, void (*on_change)(void *userdata), char **ret_message)
{
    int r = 0;

    for (unsigned kind = 0; r == 0 && kind < NM_YARN_N_DESCRIPTOR_KINDS; kind++) {
        const struct nm_yarn_provider_settings *s = nm_yarn_provider_settings_of(kind, y->settings);
        const struct nm_yarn_provider_params params = {.event = y->event, .kind = kind, .settings = y->settings,
                                                       .on_change = on_change, .userdata = y};

        y->described[kind].report.resync_usec = (uint64_t)s->resync_msec * NM_USEC_PER_MSEC;
        if (nm_yarn_provider_is_wanted(s))
            r = nm_yarn_provider_new(&params, &y->described[kind].provider, ret_message);
    }
    y->labels_since_usec = nm_now_usec();
    return r;
}

void nm_yarn_labels_done(struct nm_yarn *y)
{
    for (unsigned kind = 0; kind < NM_YARN_N_DESCRIPTOR_KINDS; kind++) {
        nm_yarn_provider_free(y->described[kind].provider);
        nm_yarn_descriptor_report_done(&y->described[kind].report);
    }
}

uint64_t nm_yarn_labels_wait_usec(const struct nm_yarn *y)
{
    bool waits = false;

    if (y->labels_since_usec == 0)
        return 0;
    for (unsigned kind = 0; kind < NM_YARN_N_DESCRIPTOR_KINDS; kind++)
        waits |= y->described[kind].provider && nm_yarn_provider_is_waiting(y->described[kind].provider);
    return waits ? nm_sub_u64(y->labels_since_usec + WAIT_USEC, nm_now_usec()) : 0;
}

/* ---- requests ----------------------------------------------------------------------------- */

/* Makes the messages of the labels and attributes that the request must contain. */
static int make(struct nm_yarn *y, struct nm_arena *arena, bool registers, Yarn__NodeLabels **ret_labels,
                Yarn__NodeAttributes **ret_attributes)
{
    int due[NM_YARN_N_DESCRIPTOR_KINDS] = {};

    for (unsigned kind = 0; kind < NM_YARN_N_DESCRIPTOR_KINDS; kind++) {
        struct nm_yarn_described *d = &y->described[kind];

        if (!d->provider)
            continue;
        due[kind] = nm_yarn_descriptor_report_choose(&d->report, nm_yarn_provider_get(d->provider), registers,
                                                     nm_now_usec());
        if (due[kind] < 0)
            return due[kind];
    }
    if (due[NM_YARN_LABEL] &&
        !(*ret_labels = nm_yarn_descriptor_report_labels(&y->described[NM_YARN_LABEL].report.sent, arena)))
        return -ENOMEM;
    if (due[NM_YARN_ATTRIBUTE] &&
        !(*ret_attributes = nm_yarn_descriptor_report_attributes(&y->described[NM_YARN_ATTRIBUTE].report.sent, arena)))
        return -ENOMEM;
    return 0;
}

int nm_yarn_labels_register(struct nm_yarn *y, struct nm_arena *arena, Yarn__RegisterRequest *request)
{
    return make(y, arena, true, &request->labels, &request->attributes);
}

int nm_yarn_labels_beat(struct nm_yarn *y, struct nm_arena *arena, Yarn__HeartbeatRequest *request)
{
    return make(y, arena, false, &request->labels, &request->attributes);
}

/* ---- answers ------------------------------------------------------------------------------ */

/* Stores the outcome of a report. A ResourceManager that manages labels centrally refuses them without a reason. */
static void take_outcome(struct nm_yarn *y, unsigned kind, bool repeats, bool accepted, const char *diagnostics)
{
    struct nm_yarn_described *d = &y->described[kind];
    char set[200], text[700];

    if (!nm_yarn_descriptor_report_answer(&d->report, repeats, accepted, diagnostics))
        return;
    nm_yarn_descriptors_print(&d->report.sent, set, sizeof set);
    if (accepted)
        (void)snprintf(text, sizeof text, "the ResourceManager has accepted the %s of this node: %s", kind_names[kind],
                       set);
    else
        (void)snprintf(text, sizeof text, "the ResourceManager has refused the %s of this node (%s): %s",
                       kind_names[kind], set,
                       *d->report.why          ? d->report.why
                       : kind == NM_YARN_LABEL ? "it gives no reason; its files may lack yarn.node-labels.enabled = "
                                                 "true or yarn.node-labels.configuration-type = distributed"
                                               : "it gives no reason");
    nm_manager_report_event(y->manager, accepted ? LOG_INFO : LOG_WARNING, text);
}

void nm_yarn_labels_registered(struct nm_yarn *y, const Yarn__RegisterResponse *r)
{
    const bool is_registered = r->has_action && r->action == YARN__ACTION__NORMAL;

    take_outcome(y, NM_YARN_LABEL, !is_registered, r->has_labels_accepted && r->labels_accepted, r->diagnostics);
    take_outcome(y, NM_YARN_ATTRIBUTE, !is_registered, r->has_attributes_accepted && r->attributes_accepted,
                 r->diagnostics);
}

void nm_yarn_labels_answered(struct nm_yarn *y, const Yarn__HeartbeatResponse *r)
{
    take_outcome(y, NM_YARN_LABEL, y->repeats, r->has_labels_accepted && r->labels_accepted, r->diagnostics);
    take_outcome(y, NM_YARN_ATTRIBUTE, y->repeats, r->has_attributes_accepted && r->attributes_accepted,
                 r->diagnostics);
}

/* ---- display ------------------------------------------------------------------------------ */

/* Returns the object of one kind, or null if the node has no provider. */
static json_t *show(const struct nm_yarn *y, unsigned kind)
{
    static const char *const states[] = {[NM_YARN_DESCRIPTORS_UNREPORTED] = "unreported",
                                         [NM_YARN_DESCRIPTORS_ACCEPTED] = "accepted",
                                         [NM_YARN_DESCRIPTORS_REFUSED] = "refused"};
    const struct nm_yarn_described *d = &y->described[kind];
    const struct nm_yarn_descriptors *set;
    const char *trouble;

    if (!d->provider)
        return json_null();
    set = nm_yarn_provider_get(d->provider);
    trouble = nm_yarn_provider_trouble(d->provider);
    return json_pack("{s:s, s:o, s:s, s:s?, s:s?}", "provider", nm_yarn_provider_name(d->provider),
                     kind == NM_YARN_LABEL ? "labels" : "attributes",
                     set ? nm_yarn_descriptors_to_json(kind, set) : json_null(), "state",
                     states[d->report.answered ? d->report.state : NM_YARN_DESCRIPTORS_UNREPORTED], "refusal",
                     *d->report.why ? d->report.why : NULL, "trouble", *trouble ? trouble : NULL);
}

int nm_yarn_labels_show(const struct nm_yarn *y, json_t *details)
{
    if (json_object_set_new(details, "node_labels", show(y, NM_YARN_LABEL)) < 0 ||
        json_object_set_new(details, "node_attributes", show(y, NM_YARN_ATTRIBUTE)) < 0)
        return -ENOMEM;
    return 0;
}
