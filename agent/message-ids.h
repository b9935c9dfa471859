/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ids of the journal entries that packaging/nmd.catalog explains (journalctl -x). An id never changes and is never
 * reused, because people may search the journal for the id years later. ./check compares this file with the catalog.
 */

#include "agent/decision/decision.h"

#define NM_MESSAGE_ADMIT "ae78a191ac5c572a8e82fa80bb1afc91"
#define NM_MESSAGE_QUEUE "f2f8cf979ae0523aa0cb9887c95e7abb"
#define NM_MESSAGE_REFUSE "d517e0f6dc885c858ac46b15417845c5"
#define NM_MESSAGE_PAUSE "2e5ce0a44a2a532689a427fad70d0a75"
#define NM_MESSAGE_RESUME "e7a045952a6c55efb24b62eed43f8b02"
#define NM_MESSAGE_RECLAIM "d6ad709f1ca75e369c1c7d83ed2c00b5"
#define NM_MESSAGE_KILL "a7c8eb554af2536a9622afd203ecf417"
#define NM_MESSAGE_SHED "9ca96a8ffd21546cbdc3f8e115676a39"
#define NM_MESSAGE_PROMOTE "fbe1f020ac195a2db7704d63a52d83d5"
#define NM_MESSAGE_DEMOTE "b313fdc1534d54f09e10e02d07eb7a90"
#define NM_MESSAGE_UPDATE "8e4ad919d3605f048903b767fdef6654"
#define NM_MESSAGE_SQUEEZE "fd409c6b63cc56db9cc2d12c51613d95"
#define NM_MESSAGE_RESTART "96947fb79db7441a9ce39fd3417ca7db"

#define NM_MESSAGE_ENDED "524ad35e162c584199def6d63e8babb6"
#define NM_MESSAGE_OOM "a84e643a2a40514cae11fcacf04c65f4"
#define NM_MESSAGE_LOST "7c091ade564b568ebce25f92036da307"
#define NM_MESSAGE_UNKILLABLE "a4dd3855838e56f2bd423c7d8e4d77f7"
#define NM_MESSAGE_FOREIGN "bc22993112b052d4a71b2e1ceff8cd04"
#define NM_MESSAGE_DRIFT "7beeb1f59c9151ef93f31046661c0064"
#define NM_MESSAGE_UNHEALTHY "aa7c026d2a9353e9af414eb5aaf39c54"
#define NM_MESSAGE_HEALTHY "7c380b9c9adf5b4aa5f79cd49b6eadc9"
#define NM_MESSAGE_STORE "41903f03800b50d2be50fb7dc6bd5b27"
#define NM_MESSAGE_NO_SAMPLE "2e70f7a2bacd5a4abd509d765116fc99"
#define NM_MESSAGE_BREAKER "69f4ec5b77ae5f52bbdf19e4f59860b4"

static inline const char *nm_message_id_of_decision(enum nm_decision_kind kind)
{
    static const char *const ids[NM_DECISION_KIND_COUNT] = {
        [NM_DECISION_ADMIT] = NM_MESSAGE_ADMIT,
        [NM_DECISION_QUEUE] = NM_MESSAGE_QUEUE,
        [NM_DECISION_REFUSE] = NM_MESSAGE_REFUSE,
        [NM_DECISION_PAUSE] = NM_MESSAGE_PAUSE,
        [NM_DECISION_RESUME] = NM_MESSAGE_RESUME,
        [NM_DECISION_RECLAIM] = NM_MESSAGE_RECLAIM,
        [NM_DECISION_KILL] = NM_MESSAGE_KILL,
        [NM_DECISION_SHED] = NM_MESSAGE_SHED,
        [NM_DECISION_PROMOTE] = NM_MESSAGE_PROMOTE,
        [NM_DECISION_DEMOTE] = NM_MESSAGE_DEMOTE,
        [NM_DECISION_UPDATE] = NM_MESSAGE_UPDATE,
        [NM_DECISION_SQUEEZE] = NM_MESSAGE_SQUEEZE,
        [NM_DECISION_RESTART] = NM_MESSAGE_RESTART,
    };

    return kind < NM_DECISION_KIND_COUNT ? ids[kind] : NULL;
}
