# Fuzz targets: one LLVMFuzzerTestOneInput per file and parser of foreign bytes, corpus in corpus/<name>/. They are linked as
# unit tests are (tests/unit/local.mk). make check links them with replay.c, which feeds the corpus. To fuzz: configure CC=clang
# --enable-fuzzers, then make fuzz; or one for as long as you like: tests/fuzz/fuzz-<name> a-directory-of-yours <corpus>.
if ENABLE_FUZZERS
$(fuzz_programs): private AM_LDFLAGS += -fsanitize=fuzzer
else
$(fuzz_programs): %D%/replay.o
TESTS += $(fuzz_programs)
endif
EXTRA_DIST += %D%/corpus %D%/socket %D%/drive-socket.py

# Each target for a while, on top of its corpus. What it comes upon is kept in fuzz-corpus/, a finding in the build directory.
FUZZ_FLAGS = -max_total_time=10
# Generated headers first: only make's own targets see to that by themselves.
fuzz: $(BUILT_SOURCES)
	@$(MAKE) $(AM_MAKEFLAGS) $(fuzz_programs)
if ENABLE_FUZZERS
	@for target in $(fuzz_programs); do \
	    corpus=$${target##*/fuzz-}; \
	    mkdir -p fuzz-corpus/$$corpus && echo "# fuzz-$$corpus" && \
	    ./$$target $(FUZZ_FLAGS) -artifact_prefix=fuzz-$$corpus- fuzz-corpus/$$corpus $(top_srcdir)/tests/fuzz/corpus/$$corpus && \
	    echo "ok - fuzz-$$corpus finds nothing" || { echo "not ok - fuzz-$$corpus has found something"; exit 1; }; \
	done
else
	@echo "make fuzz: the targets only replay their corpus here; configure CC=clang --enable-fuzzers" >&2; exit 1
endif

util_fuzz = %D%/fuzz-frame
# what it reads back
cgroup_fuzz = %D%/fuzz-cgroup-events %D%/fuzz-memory-events %D%/fuzz-psi
# what the samplers read
monitor_fuzz = %D%/fuzz-cgroup-procs %D%/fuzz-cpu-stat %D%/fuzz-link-message %D%/fuzz-meminfo \
	%D%/fuzz-memory-stat %D%/fuzz-proc-stat %D%/fuzz-proc-status %D%/fuzz-route-message \
	%D%/fuzz-smaps-rollup %D%/fuzz-statm
# nmd.conf, and what shims and the journal hold
agent_fuzz = %D%/fuzz-config %D%/fuzz-event-file %D%/fuzz-launch-record %D%/fuzz-past %D%/fuzz-shim-spec \
	%D%/fuzz-store
client_fuzz = %D%/fuzz-http-reply
# what clients send
messages_fuzz = %D%/fuzz-http-body %D%/fuzz-json-scan
local_fuzz = %D%/fuzz-http-target
# what comes over the network, and tokens from wherever
hadoop_fuzz = %D%/fuzz-hadoop-packet %D%/fuzz-hadoop-sasl %D%/fuzz-hadoop-session %D%/fuzz-hadoop-token
# the cluster's configuration, ids, what is to run, who may have it, and what masters want
yarn_fuzz = %D%/fuzz-yarn-asks %D%/fuzz-yarn-conf %D%/fuzz-yarn-context %D%/fuzz-yarn-ids \
	%D%/fuzz-yarn-proxy-store %D%/fuzz-yarn-request
# both sides of whole sessions, with valid keys: the other side is the target's own, and inputs are messages
yarn_agent_fuzz = %D%/fuzz-hadoop-calls %D%/fuzz-hadoop-client
# what reducers ask for
shuffle_fuzz = %D%/fuzz-shuffle-request
# what is said of the work, and what is remembered of the cache
localize_fuzz = %D%/fuzz-cache-file %D%/fuzz-localize-reply
# archives from anywhere, its work, and what name nodes answer
localizer_fuzz = %D%/fuzz-archive %D%/fuzz-localize-work %D%/fuzz-webhdfs
# traces, which may come from anywhere
sim_fuzz = %D%/fuzz-trace
# what a ResourceManager and its nodes answer, and the file of what nmscale remembers
scale_fuzz = %D%/fuzz-yarn-pages
fuzz_programs = $(util_fuzz) $(cgroup_fuzz) $(monitor_fuzz) $(agent_fuzz) $(client_fuzz) $(messages_fuzz) \
	$(local_fuzz) $(hadoop_fuzz) $(yarn_fuzz) $(yarn_agent_fuzz) $(shuffle_fuzz) $(localize_fuzz) \
	$(localizer_fuzz) $(sim_fuzz) $(scale_fuzz)
check_PROGRAMS += $(fuzz_programs)

$(yarn_agent_fuzz): %D%/protobuf-wire.o %D%/rpc-peer.o %D%/fake-resolve.o tests/unit/proxy-world.o tests/unit/fake-yarn-node.o
tests_unit_libfixtures_a_SOURCES += %D%/replay.c %D%/protobuf-wire.c %D%/rpc-peer.c %D%/fake-resolve.c
noinst_HEADERS += %D%/protobuf-wire.h %D%/rpc-peer.h %D%/text.h
