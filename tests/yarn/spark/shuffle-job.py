# SPDX-License-Identifier: Apache-2.0
#
# A job for PySpark with Spark's shuffle service: shuffle-job.py IGNORED OUTPUT MARKS GO. It shuffles data, waits until Spark has
# released all executors and the file GO exists, and reads the same shuffle again with new executors. Each map writes a line to the
# file MARKS, so that the result shows whether maps have run again.
import os
import sys
import time
from operator import add

from pyspark.sql import SparkSession

target, marks, go = sys.argv[2:5]
context = SparkSession.builder.getOrCreate().sparkContext


def executors():
    """Returns the number of executors. Spark's list also has the driver."""
    return context._jsc.sc().getExecutorMemoryStatus().size() - 1


def wait_for(what, condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"not reached after {seconds} s: {what}; executors: {executors()}")
        time.sleep(0.1)


def mark(numbers):
    with open(marks, "a", encoding="ascii") as file:
        file.write("map\n")
    return [(number % 100, "x" * 1000) for number in numbers]


shuffled = context.parallelize(range(2000), 6).mapPartitions(mark).groupByKey(5).mapValues(len)
first = sorted(shuffled.collect())
wait_for("all executors are released", lambda: executors() == 0)
wait_for(f"{go} exists", lambda: os.path.exists(go))
second = sorted(shuffled.collect())
with open(marks, encoding="ascii") as file:
    maps = len(file.readlines())
context.parallelize([f"groups {len(first)} maps {maps} the same again {first == second}"], 1).saveAsTextFile(target)
context.stop()
