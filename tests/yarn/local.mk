# tests/yarn/: programs on rpc/hadoop/ that exchange messages with Hadoop's own programs. tests/yarn/run starts them.
check_PROGRAMS += launch-script log-format rpc-containers
yarn_messages = %D%/nodes.pb-c.c %D%/nodes.pb-c.h
rpc_containers_SOURCES = %D%/rpc-containers.c
nodist_rpc_containers_SOURCES = $(yarn_messages)
rpc_containers_LDADD = $(hadoop_libs)
launch_script_SOURCES = %D%/launch-script.c
launch_script_LDADD = $(yarn_libs)
log_format_SOURCES = %D%/log-format.c
log_format_LDADD = $(log_format_libs)
BUILT_SOURCES += $(yarn_messages)
CLEANFILES += $(yarn_messages)
EXTRA_DIST += %D%/nodes.proto %D%/run %D%/archive %D%/lib.sh %D%/jobs.sh %D%/10-node.sh %D%/11-faulty-rm.sh %D%/12-several-rms.sh %D%/13-scale.sh %D%/14-head-to-head.sh \
	%D%/20-token.sh %D%/30-shuffle.sh %D%/35-launch.sh %D%/40-hdfs.sh %D%/45-containers.sh %D%/50-pi.sh %D%/51-nodes.sh \
	%D%/52-shell.sh %D%/54-jobs.sh %D%/55-eleven-gb.sh %D%/57-core-3.3.sh %D%/58-core-3.5.sh %D%/core.sh \
	%D%/60-forged.sh %D%/61-slow-user.sh %D%/62-fetch-command.sh %D%/63-cleaner.sh %D%/70-logs.sh \
	%D%/log-formats.sh %D%/71-log-formats.sh %D%/72-log-formats-3.3.sh %D%/73-log-formats-3.5.sh %D%/74-log-uploader.sh %D%/75-labels.sh %D%/76-container-logs.sh \
	%D%/77-resources.sh %D%/78-web.sh %D%/79-gpus.sh %D%/79-web-commands.sh %D%/fields.py %D%/fields.table \
	%D%/printed-logs.py %D%/failing-datanodes.py %D%/LogAccess.java %D%/80-proxy.sh %D%/81-proxy-faults.sh %D%/82-proxy-tokens.sh \
	%D%/83-proxy-nodes.sh %D%/84-lending.sh %D%/84-lending-steps.sh %D%/85-lending-jobs.sh %D%/86-lending-3.3.sh \
	%D%/87-lending-3.5.sh %D%/lent.sh %D%/lent-books.sh %D%/lent-matrix.sh %D%/lent-spark.sh %D%/lending.table %D%/88-lending-hive.sh %D%/89-lending-restarts.sh %D%/lending.py %D%/lending-page.py %D%/proxied.sh %D%/90-demo.sh %D%/93-away.sh %D%/94-disks.sh %D%/95-network.sh %D%/96-leaving.sh %D%/99-soak.sh %D%/soak %D%/soak.py %D%/soak-jobs.sh %D%/soak-faults.sh %D%/faults.sh %D%/link.py %D%/faulty-rm.py %D%/wire.py %D%/proxy-tokens.py %D%/master.py \
	%D%/forged.py %D%/cleaner.py %D%/slow-user.py %D%/fetched.py %D%/nodes-page.py %D%/Launch.java %D%/Shuffle.java %D%/TokenClient.java \
	%D%/97-log-links.sh %D%/job-logs.sh %D%/page-logs.py %D%/history \
	%D%/56-spark-shuffle.sh %D%/57-spark-nodes.sh %D%/59-spark-versions.sh %D%/59-java-services.sh %D%/59-java-classes.sh %D%/59-java-tez.sh %D%/auxhost %D%/91-failover.sh %D%/ha.sh %D%/92-hdfs-ha.sh %D%/98-kill-steps.sh %D%/kill-steps.py %D%/hdfs %D%/tez %D%/hive %D%/spark
