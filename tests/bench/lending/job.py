# SPDX-License-Identifier: Apache-2.0
"""A batch job of PySpark with a shuffle: job.py IGNORED IGNORED RECORDS JOB TASKS SECONDS DIRECTORY-OF-TASK.PY. The first
two arguments are those of the suites' job (tests/yarn/spark)."""
import sys

from pyspark.sql import SparkSession

records, job, tasks, seconds, here = sys.argv[3], sys.argv[4], int(sys.argv[5]), int(sys.argv[6]), sys.argv[7]
context = SparkSession.builder.getOrCreate().sparkContext


def run(number):
    sys.path.insert(0, here)
    from task import work
    return number % 2, work(records, job, number, seconds)


done = dict(context.parallelize(range(tasks), tasks).map(run).reduceByKey(lambda a, b: a + b, 2).collect())
if sum(done.values()) != tasks * seconds:
    sys.exit(f"wrong result: {done}")
context.stop()
