#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Runs a container that prints the contents of its resources in order:
#
#   fetched.py RM-PORT NODE-NAME NODE-PORT SCHEME HOST PATH...
import os
import sys

from master import begin, cluster, container_token, context, fact, start, within
from wire import message, number

scheme, host, *paths = sys.argv[4:]


def resource(number_of, path):
    url = message(1, scheme) + message(2, host) + number(3, -1) + message(4, path)
    return message(1, message(1, f"it{number_of}") + message(2, message(1, url) + number(2, 1) + number(3, 0) + number(4, 2) +
                                                             number(5, 2)))


RESOURCES = b"".join(resource(i, path) for i, path in enumerate(paths))
PRINT = "cat " + " ".join(f"it{i}" for i in range(len(paths))) + " 1><LOG_DIR>/stdout"

begin()
fact("a container is started", start(container_token(1), what=context(PRINT, RESOURCES)), "1; ")
within(90, lambda: 1 in cluster.ends)
fact("the started container succeeds", f"{cluster.ends.get(1)} {cluster.diagnostics.get(1, '')}".split("\n"), ["0 "])
os._exit(0)
