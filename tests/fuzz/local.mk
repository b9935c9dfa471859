# Fuzz targets. Each file has one LLVMFuzzerTestOneInput() for one parser of untrusted data, and a corpus in corpus/<name>/. Targets
# are linked like unit tests (tests/unit/local.mk). For make check they are linked with run-corpus.c, which runs them on their corpus.
# To fuzz, configure with CC=clang --enable-fuzzers, and run make fuzz. To fuzz one target for a longer time, run
# tests/fuzz/fuzz-<name> DIRECTORY-FOR-NEW-INPUTS CORPUS.
if ENABLE_FUZZERS
$(fuzz_programs): private AM_LDFLAGS += -fsanitize=fuzzer
else
$(fuzz_programs): %D%/run-corpus.o
TESTS += $(fuzz_programs)
endif
EXTRA_DIST += %D%/corpus %D%/socket %D%/drive-socket.py

# Runs each target for ten seconds, beginning with its corpus. New inputs are stored in fuzz-corpus/, findings in the build directory.
FUZZ_FLAGS = -max_total_time=10
# Generated headers must be made first: automake does this only for its own targets, such as all and check.
fuzz: $(BUILT_SOURCES)
	@$(MAKE) $(AM_MAKEFLAGS) $(fuzz_programs)
if ENABLE_FUZZERS
	@for target in $(fuzz_programs); do \
	    corpus=$${target##*/fuzz-}; \
	    mkdir -p fuzz-corpus/$$corpus && echo "# fuzz-$$corpus" && \
	    ./$$target $(FUZZ_FLAGS) -artifact_prefix=fuzz-$$corpus- fuzz-corpus/$$corpus $(top_srcdir)/tests/fuzz/corpus/$$corpus && \
	    echo "ok - fuzz-$$corpus finds no fault" || { echo "not ok - fuzz-$$corpus has found a fault"; exit 1; }; \
	done
else
	@echo "make fuzz: the targets only replay their corpus here; configure CC=clang --enable-fuzzers" >&2; exit 1
endif

util_fuzz = %D%/fuzz-frame
# files of a cgroup that cgroup/ reads
cgroup_fuzz = %D%/fuzz-cgroup-events %D%/fuzz-memory-events %D%/fuzz-psi
# files of cgroups and of /proc, and netlink messages, which the samplers read
monitor_fuzz = %D%/fuzz-cgroup-procs %D%/fuzz-cpu-stat %D%/fuzz-link-message %D%/fuzz-meminfo \
	%D%/fuzz-memory-stat %D%/fuzz-proc-stat %D%/fuzz-proc-status %D%/fuzz-route-message \
	%D%/fuzz-smaps-rollup %D%/fuzz-statm
# nmd.conf, files of an earlier nmd, and texts between nmd and its shims
agent_fuzz = %D%/fuzz-config %D%/fuzz-event-file %D%/fuzz-launch-record %D%/fuzz-saved-history %D%/fuzz-shim-spec \
	%D%/fuzz-store
client_fuzz = %D%/fuzz-http-reply
# bodies of requests
messages_fuzz = %D%/fuzz-http-body %D%/fuzz-json-scan
local_fuzz = %D%/fuzz-http-accept %D%/fuzz-http-target
# messages from the network, and tokens
hadoop_fuzz = %D%/fuzz-hadoop-packet %D%/fuzz-hadoop-sasl %D%/fuzz-hadoop-session %D%/fuzz-hadoop-token
# the cluster's configuration, labels and attributes, ids, launch contexts, requests with tokens, resource requests of application
# masters, and stored states of the proxy and of log aggregation
yarn_fuzz = %D%/fuzz-yarn-asks %D%/fuzz-yarn-conf %D%/fuzz-yarn-context %D%/fuzz-yarn-gpus %D%/fuzz-yarn-ids \
	%D%/fuzz-yarn-labels %D%/fuzz-yarn-lend %D%/fuzz-yarn-log-request %D%/fuzz-yarn-logs %D%/fuzz-yarn-placement \
	%D%/fuzz-yarn-proxy-store %D%/fuzz-yarn-request
# whole sessions with valid keys, as server and as client: the target is the other side, and inputs are protobuf messages
yarn_agent_fuzz = %D%/fuzz-hadoop-calls %D%/fuzz-hadoop-client
# requests of reducers
shuffle_fuzz = %D%/fuzz-shuffle-request
# frames, messages and authentication of Spark's executors
spark_fuzz = %D%/fuzz-spark-auth %D%/fuzz-spark-frame
# reports of nm-localizer, and stored files of the cache
localize_fuzz = %D%/fuzz-cache-file %D%/fuzz-localize-reply
# archives, the work of nm-localizer, and answers of HDFS name nodes
localizer_fuzz = %D%/fuzz-archive %D%/fuzz-localize-work %D%/fuzz-webhdfs
# the index of an IndexedFile to which logs are appended
log_format_fuzz = %D%/fuzz-log-meta
# the work and the stored memory of nm-log-uploader, and its reports
log_uploader_fuzz = %D%/fuzz-upload-memory %D%/fuzz-upload-reply %D%/fuzz-upload-work
# traces
sim_fuzz = %D%/fuzz-trace
# pages of a ResourceManager and of its nodes, and the stored file of nmscale
scale_fuzz = %D%/fuzz-yarn-pages
fuzz_programs = $(util_fuzz) $(cgroup_fuzz) $(monitor_fuzz) $(agent_fuzz) $(client_fuzz) $(messages_fuzz) \
	$(local_fuzz) $(hadoop_fuzz) $(yarn_fuzz) $(yarn_agent_fuzz) $(shuffle_fuzz) $(spark_fuzz) \
	$(localize_fuzz) $(localizer_fuzz) $(log_uploader_fuzz) $(log_format_fuzz) $(sim_fuzz) $(scale_fuzz)
check_PROGRAMS += $(fuzz_programs)

$(yarn_agent_fuzz): %D%/protobuf-wire.o %D%/rpc-peer.o %D%/fake-resolve.o tests/unit/proxy-fixture.o tests/unit/fake-yarn-node.o
tests_unit_libfixtures_a_SOURCES += %D%/run-corpus.c %D%/protobuf-wire.c %D%/rpc-peer.c %D%/fake-resolve.c
noinst_HEADERS += %D%/protobuf-wire.h %D%/rpc-peer.h %D%/text.h
