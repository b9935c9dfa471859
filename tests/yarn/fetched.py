#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Runs a container that prints the contents of a resource:
#
#   fetched.py RM-PORT NODE-NAME NODE-PORT SCHEME HOST PATH
import os
import sys

from master import begin, cluster, container_token, context, fact, start, within
from wire import message, number

scheme, host, path = sys.argv[4:7]
URL = message(1, scheme) + message(2, host) + number(3, -1) + message(4, path)
RESOURCE = message(1, message(1, "it") + message(2, message(1, URL) + number(2, 1) + number(3, 0) + number(4, 2) + number(5, 2)))

begin()
fact("a container is started", start(container_token(1), what=context("cat it 1><LOG_DIR>/stdout", RESOURCE)), "1; ")
within(90, lambda: 1 in cluster.ends)
fact("and ends well", f"{cluster.ends.get(1)} {cluster.said.get(1, '')}".split("\n"), ["0 "])
os._exit(0)
