# SPDX-License-Identifier: Apache-2.0
#
# A job for PySpark: job.py INPUT OUTPUT [elastic] [until=FILE]. It counts words in two ways, one of them with a join, so that the
# data are shuffled twice, and writes the result. With "elastic" it waits until Spark has released all executors, and computes
# again with new executors. With "until" it first runs two tasks that wait until the file exists.
import os
import sys
import time
from operator import add

from pyspark.sql import SparkSession
from pyspark.sql.functions import explode, split

source, target = sys.argv[1:3]
spark = SparkSession.builder.getOrCreate()
context = spark.sparkContext


def executors():
    """Returns the number of executors. Spark's list also has the driver."""
    return context._jsc.sc().getExecutorMemoryStatus().size() - 1


def wait_for(what, condition, seconds=90):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"not reached after {seconds} s: {what}; executors: {executors()}")
        time.sleep(0.1)


def slow(word):
    time.sleep(0.001)
    return word, 1


def count():
    lines = context.textFile(source, 6)
    pairs = lines.flatMap(str.split).map(slow).reduceByKey(add, 5)
    words = spark.read.text(source).select(explode(split("value", " ")).alias("word"))
    counted = words.groupBy("word").count()
    lengths = words.distinct().selectExpr("word", "length(word) AS letters")
    joined = {row.word: (row["count"], row.letters) for row in counted.join(lengths, "word").collect()}
    return {word: (n, *joined[word]) for word, n in pairs.collect()}


def wait_for_file(path):
    while not os.path.exists(path):
        time.sleep(0.1)
    return 1


spark.conf.set("spark.sql.shuffle.partitions", 4)
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)
for path in (word[len("until="):] for word in sys.argv if word.startswith("until=")):
    context.parallelize(range(2), 2).map(lambda _: wait_for_file(path)).sum()
found = count()
counts = [f"{word} {' '.join(map(str, found[word]))}" for word in sorted(found) if not word.isdigit()]
counts.append(f"words {len(found)}")
if "elastic" in sys.argv:
    wait_for("all executors are given back", lambda: executors() == 0)
    counts.append(f"the same again {count() == found}")
context.parallelize(counts, 1).saveAsTextFile(target)
spark.stop()
