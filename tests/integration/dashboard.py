#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Compares the Grafana dashboard with the metrics that nmd really exports, and runs its queries on a real Prometheus that has
# scraped nmd:
#
#   dashboard.py DASHBOARD METRICS PROMETHEUS-URL
#   dashboard.py DASHBOARD METRICS PREFIX
#
# METRICS is a file with the output of /metrics. Only a node of a YARN cluster has the metrics with certain prefixes, and Prometheus
# has not scraped one: queries with these metrics must only be valid there. With one of these prefixes, METRICS is the output of such
# a node, and only the queries with this prefix are compared with it. Prints each fault. Exits with status 1 if there are faults.
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

dashboard, metrics, source = sys.argv[1:]
OF_CLUSTER = {"nm_aux_service": 5, "nm_lending_": 4, "nm_log_upload": 3}  # prefixes, and how many queries they have at least
url = None if source in OF_CLUSTER else source
faults = []

with open(dashboard, encoding="utf-8") as f:
    model = json.load(f)
exported, labels = set(), {}
with open(metrics, encoding="utf-8") as f:
    for line in f:
        sample = re.match(r"([a-z_]+)(?:\{(.*)\})? \S+$", line)
        if sample:
            exported.add(sample[1])
            pairs = re.findall(r'(\w+)="([^"]*)"', sample[2] or "")
            labels.setdefault(sample[1], set()).update(pairs)


def ask(query):
    """Returns the series of the result, and an error message if there are no series."""
    address = url + "/api/v1/query?" + urllib.parse.urlencode({"query": query})
    try:
        with urllib.request.urlopen(address, timeout=20) as answer:
            return json.load(answer)["data"]["result"], None
    except urllib.error.HTTPError as e:
        return [], json.load(e)["error"]


def in_prometheus(expr):
    """Returns the query with values for Grafana's variables."""
    return expr.replace("$__rate_interval", "1m").replace("$instance", ".*")


queries = 0
ids, used_names = set(), set()
for panel in model["panels"]:
    if panel["id"] in ids:
        faults.append(f"panel id {panel['id']} is there twice")
    ids.add(panel["id"])
    for target in panel.get("targets", []):
        where, expr = panel["title"] + ": " + target["expr"], target["expr"]
        prefix = next((p for p in OF_CLUSTER if p in expr), None)
        if prefix and url:
            error = ask(in_prometheus(expr))[1]
            if error:
                faults.append(f"{where}: Prometheus answers {error}")
        if prefix != (None if url else source):
            continue  # METRICS is from another kind of node
        queries += 1
        # Every name that starts like nmd's metrics must be a metric of nmd, with the labels of this metric.
        for name, selector in re.findall(r"\b(nm_\w+)(?:\{([^}]*)\})?", expr):
            used_names.add(name)
            if name not in exported:
                faults.append(f"{where}: nmd exports no {name}")
            for label, value in re.findall(r'(\w+)="([^"]*)"', selector):
                if (label, value) not in labels.get(name, ()):
                    faults.append(f'{where}: {name} never has {label}="{value}"')
        for legend in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
            if legend != "instance" and legend not in {
                    label for name in re.findall(r"\bnm_\w+", expr) for label, _ in labels.get(name, ())}:
                faults.append(f"{where}: no label {legend} for the legend")
        result, error = ask(in_prometheus(expr)) if url else (True, None)
        if error or not result:
            faults.append(f"{where}: Prometheus answers {error or 'with no series'}")

# The query that fills the menu of nodes is checked too.
for variable in model["templating"]["list"] if url else ():
    for name in re.findall(r"\bnm_\w+", json.dumps(variable)):
        if name not in exported:
            faults.append(f"the menu {variable['name']}: nmd exports no {name}")

for fault in faults:
    print(fault)
print(f"{queries} queries of {len(used_names)} metrics")
sys.exit(1 if faults or queries < OF_CLUSTER.get(source, 20) else 0)
