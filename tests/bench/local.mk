# Benchmarks: "make bench" builds and runs them. They print figures and a reference for comparison, and do not pass or fail.
EXTRA_PROGRAMS += $(bench_programs) first-instruction cpu-probe master-probe shuffle-compare spark-shuffle-compare
bench_programs = sampling-bench policy-bench launch-bench interference-bench shuffle-bench
CLEANFILES += $(bench_programs) first-instruction cpu-probe master-probe shuffle-compare spark-shuffle-compare

sampling_bench_SOURCES = %D%/sampling-bench.c
sampling_bench_LDADD = $(monitor_libs)

policy_bench_SOURCES = %D%/policy-bench.c
policy_bench_LDADD = $(agent_libs)

launch_bench_SOURCES = %D%/launch-bench.c
launch_bench_LDADD = $(agent_libs)
EXTRA_launch_bench_DEPENDENCIES = nm-shim$(EXEEXT)

interference_bench_SOURCES = %D%/interference-bench.c
interference_bench_LDADD = $(util_libs)

shuffle_load = %D%/shuffle/load.c %D%/shuffle/load.h
shuffle_bench_SOURCES = %D%/shuffle-bench.c $(shuffle_load)
shuffle_bench_LDADD = $(shuffle_libs)
EXTRA_shuffle_bench_DEPENDENCIES = nm-shuffle$(EXEEXT)

shuffle_servers = %D%/shuffle/servers.c %D%/shuffle/servers.h
shuffle_compare_SOURCES = %D%/shuffle/compare.c $(shuffle_load) $(shuffle_servers)
shuffle_compare_LDADD = $(shuffle_libs)

spark_shuffle_compare_SOURCES = %D%/spark-shuffle/compare.c %D%/spark-shuffle/client.c %D%/spark-shuffle/client.h \
	$(shuffle_load) $(shuffle_servers)
spark_shuffle_compare_LDADD = $(spark_libs)

first_instruction_SOURCES = %D%/first-instruction.c
# its first executed instruction must be its own, and not the dynamic linker's
first_instruction_LDFLAGS = -static -Wl,-e,nm_first_instruction

# guard starts nmd with this object in LD_PRELOAD
%D%/allocation-counter.so: %D%/allocation-counter.c
	@$(MKDIR_P) %D%
	$(AM_V_CC)$(CC) $(AM_CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<
CLEANFILES += %D%/allocation-counter.so

cpu_probe_SOURCES = %D%/cpu-probe.c

master_messages = %D%/masters/master.pb-c.c %D%/masters/master.pb-c.h
master_probe_SOURCES = %D%/masters/master-probe.c
nodist_master_probe_SOURCES = $(master_messages)
master_probe_LDADD = $(hadoop_libs)
BUILT_SOURCES += $(master_messages)
CLEANFILES += $(master_messages)
EXTRA_DIST += %D%/allocation-counter.c %D%/compare %D%/counts.py %D%/daemon-bench.py %D%/guard %D%/guard.values \
	%D%/scale %D%/vm %D%/packing %D%/masters %D%/lending %D%/yarn-launch.py %D%/surge-bound.py \
	%D%/shuffle %D%/spark-shuffle %D%/shuffle_node.py %D%/yarn %D%/yarn_node.py

bench: $(bench_programs) first-instruction nmd/nmd $(started_by_nmd) nmctl/nmctl
	@for b in $(bench_programs); do ./$$b || test $$? -eq 77 || exit 1; done
	$(srcdir)/%D%/daemon-bench.py --build . || test $$? -eq 77
	$(srcdir)/%D%/yarn-launch.py --build . || test $$? -eq 77

# Benchmarks that need the virtual machine: launches through systemd, sampling with a memory controller, and cpu.idle.
bench-vm: first-instruction sampling-bench cpu-probe
	$(srcdir)/tests/vm/run --suites $(srcdir)/%D%/vm --build .

# Container packing, in Hadoop's scheduler load simulator, which Maven downloads. It takes three quarters of an hour.
bench-packing:
	$(srcdir)/%D%/packing/bench.py --build .

# Application masters of YARN that use the proxy of nmd's node, compared with Hadoop's own NodeManager, with a stock
# ResourceManager. It takes three minutes.
bench-masters: nmd/nmd $(started_by_nmd) nmctl/nmctl master-probe
	$(srcdir)/%D%/masters/bench.sh .

# Batch jobs beside services, with lending and on a stock NodeManager. It takes 35 minutes.
bench-lending: nmd/nmd $(started_by_nmd) nmctl/nmctl
	$(srcdir)/%D%/lending/bench.sh .

# nm-shuffle compared with Hadoop's own ShuffleHandler. It takes four minutes.
bench-shuffle: shuffle-compare nm-shuffle
	$(srcdir)/%D%/shuffle/bench.sh .

# nm-spark-shuffle compared with Spark's own shuffle service. It takes five minutes.
bench-spark-shuffle: spark-shuffle-compare nm-spark-shuffle
	$(srcdir)/%D%/spark-shuffle/run .

# nmd compared with Hadoop's own NodeManager, figure by figure. It takes 25 minutes.
bench-yarn: nmd/nmd $(started_by_nmd) nmctl/nmctl first-instruction shuffle-compare
	$(srcdir)/%D%/yarn/run .
.PHONY: bench bench-vm bench-packing bench-masters bench-lending bench-shuffle bench-spark-shuffle bench-yarn
