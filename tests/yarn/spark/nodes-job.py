# SPDX-License-Identifier: Apache-2.0
#
# A job for PySpark whose map outputs outlive their executors: nodes-job.py IGNORED IGNORED PREFIX [spread] [released]. It joins two
# wide shuffles, creates the file PREFIX.ready, waits for the file PREFIX.go, reads the same shuffles again, and writes PREFIX.result.
# With "spread" it begins when executors run on two nodes, so that both nodes have map outputs. With "released" it creates
# PREFIX.ready when Spark has released all executors.
#
# Only Spark's JVM runs the tasks: PySpark 3.3 can't send functions of Python 3.11 to executors.
import os
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

prefix = sys.argv[3]
ROWS, KEYS = 60000, 500
spark = SparkSession.builder.getOrCreate()
for name, value in (("adaptive.enabled", "false"), ("autoBroadcastJoinThreshold", "-1"), ("shuffle.partitions", "8")):
    spark.conf.set("spark.sql." + name, value)


def executors():
    """Returns the number of executors. Spark's list also has the driver."""
    return spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1


def nodes():
    """Returns the nodes with executors. The driver is not on a node. An entry is a host and a port."""
    entries = spark.sparkContext._jvm.scala.collection.JavaConverters.seqAsJavaList(
        spark.sparkContext._jsc.sc().getExecutorMemoryStatus().keys().toSeq())
    return {str(entry).rsplit(":", 1)[0] for entry in entries if str(entry).startswith("node")}


def wait_for(what, condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"not reached after {seconds} s: {what}; executors: {executors()}")
        time.sleep(0.1)


def joined():
    """Returns an RDD of the JVM. Its actions read the same shuffles."""
    texts = spark.range(0, ROWS, 1, 6).selectExpr(f"id % {KEYS} AS key", "md5(CAST(id AS string)) AS text")
    weights = spark.range(0, KEYS, 1, 3).selectExpr("id AS key", "3 * id AS weight")
    groups = texts.join(weights, "key").groupBy("key").agg(expr("count(*) AS n"), expr("sum(weight) AS weights"),
                                                           expr("sum(length(text)) AS letters"))
    return groups.selectExpr("concat_ws(' ', key, n, weights, letters) AS line")._jdf.javaRDD()


def read(rdd):
    return sorted(row.getString(0) for row in rdd.collect())


def create(suffix, text=""):
    with open(f"{prefix}.{suffix}", "w", encoding="ascii") as file:
        file.write(text)


if "spread" in sys.argv:
    wait_for("executors run on two nodes", lambda: len(nodes()) > 1, 240)
rdd = joined()
first = read(rdd)
in_group = ROWS // KEYS
wanted = sorted(f"{key} {in_group} {3 * key * in_group} {32 * in_group}" for key in range(KEYS))
if "released" in sys.argv:
    wait_for("all executors are released", lambda: executors() == 0)
create("ready")
wait_for(f"{prefix}.go exists", lambda: os.path.exists(prefix + ".go"))
second = read(rdd)
create("result", f"groups {len(first)} right {first == wanted} the same again {second == first}\n")
spark.stop()
