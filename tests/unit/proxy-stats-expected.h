/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Metrics and status that test-yarn-proxy-stats.c expects, byte for byte, because other programs parse them.
 */

#define MASTERS_METRICS \
    "# HELP nm_amrmproxy_pipelines Attempts of applications whose masters go through this node.\n" \
    "# TYPE nm_amrmproxy_pipelines gauge\n" \
    "nm_amrmproxy_pipelines 2\n" \
    "# HELP nm_amrmproxy_outstanding_containers Opportunistic containers that masters have requested and " \
    "this node has not placed yet.\n" \
    "# TYPE nm_amrmproxy_outstanding_containers gauge\n" \
    "nm_amrmproxy_outstanding_containers 14\n" \
    "# HELP nm_amrmproxy_placed_containers_total Opportunistic containers that this node has " \
    "placed, by the rule that placed them.\n" \
    "# TYPE nm_amrmproxy_placed_containers_total counter\n" \
    "nm_amrmproxy_placed_containers_total{rule=\"node-local\"} 1\n" \
    "nm_amrmproxy_placed_containers_total{rule=\"rack-local\"} 1\n" \
    "nm_amrmproxy_placed_containers_total{rule=\"any\"} 2\n" \
    "# HELP nm_amrmproxy_failures_total Calls for masters that failed, by call.\n" \
    "# TYPE nm_amrmproxy_failures_total counter\n" \
    "nm_amrmproxy_failures_total{call=\"start\"} 0\n" \
    "nm_amrmproxy_failures_total{call=\"register\"} 3\n" \
    "nm_amrmproxy_failures_total{call=\"allocate\"} 6\n" \
    "nm_amrmproxy_failures_total{call=\"finish\"} 9\n" \
    "nm_amrmproxy_failures_total{call=\"recover\"} 12\n" \
    "nm_amrmproxy_failures_total{call=\"stop\"} 15\n" \
    "nm_amrmproxy_failures_total{call=\"token\"} 18\n" \
    "# HELP nm_amrmproxy_call_seconds Time from a call to its successful answer, by call.\n" \
    "# TYPE nm_amrmproxy_call_seconds histogram\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"start\",le=\"0.001\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"start\",le=\"0.0025\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"start\",le=\"0.005\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"start\",le=\"0.01\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"start\",le=\"0.025\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"start\",le=\"0.05\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"start\",le=\"0.1\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"start\",le=\"0.25\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"start\",le=\"0.5\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"start\",le=\"1\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"start\",le=\"5\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"start\",le=\"30\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"start\",le=\"+Inf\"} 1\n" \
    "nm_amrmproxy_call_seconds_sum{call=\"start\"} 0.0007\n" \
    "nm_amrmproxy_call_seconds_count{call=\"start\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"register\",le=\"0.001\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"register\",le=\"0.0025\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"register\",le=\"0.005\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"register\",le=\"0.01\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"register\",le=\"0.025\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"register\",le=\"0.05\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"register\",le=\"0.1\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"register\",le=\"0.25\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"register\",le=\"0.5\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"register\",le=\"1\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"register\",le=\"5\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"register\",le=\"30\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"register\",le=\"+Inf\"} 2\n" \
    "nm_amrmproxy_call_seconds_sum{call=\"register\"} 0.0119\n" \
    "nm_amrmproxy_call_seconds_count{call=\"register\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"allocate\",le=\"0.001\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"allocate\",le=\"0.0025\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"allocate\",le=\"0.005\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"allocate\",le=\"0.01\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"allocate\",le=\"0.025\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"allocate\",le=\"0.05\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"allocate\",le=\"0.1\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"allocate\",le=\"0.25\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"allocate\",le=\"0.5\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"allocate\",le=\"1\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"allocate\",le=\"5\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"allocate\",le=\"30\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"allocate\",le=\"+Inf\"} 3\n" \
    "nm_amrmproxy_call_seconds_sum{call=\"allocate\"} 0.1911\n" \
    "nm_amrmproxy_call_seconds_count{call=\"allocate\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"finish\",le=\"0.001\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"finish\",le=\"0.0025\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"finish\",le=\"0.005\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"finish\",le=\"0.01\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"finish\",le=\"0.025\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"finish\",le=\"0.05\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"finish\",le=\"0.1\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"finish\",le=\"0.25\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"finish\",le=\"0.5\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"finish\",le=\"1\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"finish\",le=\"5\"} 4\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"finish\",le=\"30\"} 4\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"finish\",le=\"+Inf\"} 4\n" \
    "nm_amrmproxy_call_seconds_sum{call=\"finish\"} 3.0583\n" \
    "nm_amrmproxy_call_seconds_count{call=\"finish\"} 4\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"recover\",le=\"0.001\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"recover\",le=\"0.0025\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"recover\",le=\"0.005\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"recover\",le=\"0.01\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"recover\",le=\"0.025\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"recover\",le=\"0.05\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"recover\",le=\"0.1\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"recover\",le=\"0.25\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"recover\",le=\"0.5\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"recover\",le=\"1\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"recover\",le=\"5\"} 4\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"recover\",le=\"30\"} 4\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"recover\",le=\"+Inf\"} 5\n" \
    "nm_amrmproxy_call_seconds_sum{call=\"recover\"} 48.9335\n" \
    "nm_amrmproxy_call_seconds_count{call=\"recover\"} 5\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"stop\",le=\"0.001\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"stop\",le=\"0.0025\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"stop\",le=\"0.005\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"stop\",le=\"0.01\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"stop\",le=\"0.025\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"stop\",le=\"0.05\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"stop\",le=\"0.1\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"stop\",le=\"0.25\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"stop\",le=\"0.5\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"stop\",le=\"1\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"stop\",le=\"5\"} 4\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"stop\",le=\"30\"} 4\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"stop\",le=\"+Inf\"} 6\n" \
    "nm_amrmproxy_call_seconds_sum{call=\"stop\"} 782.9367\n" \
    "nm_amrmproxy_call_seconds_count{call=\"stop\"} 6\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"token\",le=\"0.001\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"token\",le=\"0.0025\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"token\",le=\"0.005\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"token\",le=\"0.01\"} 1\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"token\",le=\"0.025\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"token\",le=\"0.05\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"token\",le=\"0.1\"} 2\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"token\",le=\"0.25\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"token\",le=\"0.5\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"token\",le=\"1\"} 3\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"token\",le=\"5\"} 4\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"token\",le=\"30\"} 4\n" \
    "nm_amrmproxy_call_seconds_bucket{call=\"token\",le=\"+Inf\"} 7\n" \
    "nm_amrmproxy_call_seconds_sum{call=\"token\"} 12526.9879\n" \
    "nm_amrmproxy_call_seconds_count{call=\"token\"} 7\n" \
    "# HELP nm_amrmproxy_added_seconds Time that this node added to a call, by call.\n" \
    "# TYPE nm_amrmproxy_added_seconds histogram\n" \
    "nm_amrmproxy_added_seconds_bucket{call=\"allocate\",le=\"0.001\"} 1\n" \
    "nm_amrmproxy_added_seconds_bucket{call=\"allocate\",le=\"0.0025\"} 1\n" \
    "nm_amrmproxy_added_seconds_bucket{call=\"allocate\",le=\"0.005\"} 1\n" \
    "nm_amrmproxy_added_seconds_bucket{call=\"allocate\",le=\"0.01\"} 1\n" \
    "nm_amrmproxy_added_seconds_bucket{call=\"allocate\",le=\"0.025\"} 1\n" \
    "nm_amrmproxy_added_seconds_bucket{call=\"allocate\",le=\"0.05\"} 1\n" \
    "nm_amrmproxy_added_seconds_bucket{call=\"allocate\",le=\"0.1\"} 1\n" \
    "nm_amrmproxy_added_seconds_bucket{call=\"allocate\",le=\"0.25\"} 1\n" \
    "nm_amrmproxy_added_seconds_bucket{call=\"allocate\",le=\"0.5\"} 1\n" \
    "nm_amrmproxy_added_seconds_bucket{call=\"allocate\",le=\"1\"} 1\n" \
    "nm_amrmproxy_added_seconds_bucket{call=\"allocate\",le=\"5\"} 1\n" \
    "nm_amrmproxy_added_seconds_bucket{call=\"allocate\",le=\"30\"} 1\n" \
    "nm_amrmproxy_added_seconds_bucket{call=\"allocate\",le=\"+Inf\"} 2\n" \
    "nm_amrmproxy_added_seconds_sum{call=\"allocate\"} 99.0001\n" \
    "nm_amrmproxy_added_seconds_count{call=\"allocate\"} 2\n"

#define MASTERS_STATUS \
    "{\"address\":\"n1:8049\",\"attempts\":2,\"outstanding\":14,\"placed\":{\"node_local\":1,\"rack_local\":1" \
    ",\"anywhere\":2},\"calls\":{\"start\":{\"answered\":1,\"failed\":0},\"register\":{\"answered\":2,\"failed" \
    "\":3},\"allocate\":{\"answered\":3,\"failed\":6},\"finish\":{\"answered\":4,\"failed\":9},\"recover\":{\"a" \
    "nswered\":5,\"failed\":12},\"stop\":{\"answered\":6,\"failed\":15},\"token\":{\"answered\":7,\"failed\":1" \
    "8}},\"lending\":null,\"pipelines\":[{\"attempt_id\":\"a\"}]}"
