# Fuzz targets: one LLVMFuzzerTestOneInput per file and parser of foreign bytes, corpus in corpus/<name>/. make check
# links them with replay.c, which feeds the corpus. To fuzz: configure CC=clang --enable-fuzzers, then make fuzz; or one for
# as long as you like: ./fuzz-<name> a-directory-of-yours <corpus>.
if ENABLE_FUZZERS
fuzz_main =
fuzz_ldflags = $(AM_LDFLAGS) -fsanitize=fuzzer
else
fuzz_main = %D%/replay.c
fuzz_ldflags = $(AM_LDFLAGS)
TESTS += $(fuzz_programs)
endif
EXTRA_DIST += %D%/corpus %D%/socket %D%/drive-socket.py

# Each target for a while, on top of its corpus. What it comes upon is kept in fuzz-corpus/, a finding beside the programs.
FUZZ_FLAGS = -max_total_time=10
# Generated headers first: only make's own targets see to that by themselves.
fuzz: $(BUILT_SOURCES)
	@$(MAKE) $(AM_MAKEFLAGS) $(fuzz_programs)
if ENABLE_FUZZERS
	@for target in $(fuzz_programs); do \
	    corpus=$${target#fuzz-}; \
	    mkdir -p fuzz-corpus/$$corpus && echo "# $$target" && \
	    ./$$target $(FUZZ_FLAGS) -artifact_prefix=$$target- fuzz-corpus/$$corpus $(top_srcdir)/tests/fuzz/corpus/$$corpus && \
	    echo "ok - $$target finds nothing" || { echo "not ok - $$target has found something"; exit 1; }; \
	done
else
	@echo "make fuzz: the targets only replay their corpus here; configure CC=clang --enable-fuzzers" >&2; exit 1
endif

fuzz_programs =
check_PROGRAMS += $(fuzz_programs)

fuzz_programs += fuzz-frame
fuzz_frame_SOURCES = %D%/fuzz-frame.c $(fuzz_main)
fuzz_frame_LDFLAGS = $(fuzz_ldflags)
fuzz_frame_LDADD = libnm-util.la

fuzz_programs += fuzz-http-reply
fuzz_http_reply_SOURCES = %D%/fuzz-http-reply.c $(fuzz_main)
fuzz_http_reply_LDFLAGS = $(fuzz_ldflags)
fuzz_http_reply_LDADD = libnm-client.la

# monitor/: what the samplers read
fuzz_programs += fuzz-cgroup-procs fuzz-cpu-stat fuzz-link-message fuzz-meminfo fuzz-memory-stat \
	fuzz-proc-stat fuzz-proc-status fuzz-route-message fuzz-smaps-rollup fuzz-statm
fuzz_cgroup_procs_SOURCES = %D%/fuzz-cgroup-procs.c %D%/text.h $(fuzz_main)
fuzz_cgroup_procs_LDFLAGS = $(fuzz_ldflags)
fuzz_cgroup_procs_LDADD = libnm-monitor.la
fuzz_cpu_stat_SOURCES = %D%/fuzz-cpu-stat.c %D%/text.h $(fuzz_main)
fuzz_cpu_stat_LDFLAGS = $(fuzz_ldflags)
fuzz_cpu_stat_LDADD = libnm-monitor.la
fuzz_link_message_SOURCES = %D%/fuzz-link-message.c $(fuzz_main)
fuzz_link_message_LDFLAGS = $(fuzz_ldflags)
fuzz_link_message_LDADD = libnm-monitor.la
fuzz_meminfo_SOURCES = %D%/fuzz-meminfo.c %D%/text.h $(fuzz_main)
fuzz_meminfo_LDFLAGS = $(fuzz_ldflags)
fuzz_meminfo_LDADD = libnm-monitor.la
fuzz_memory_stat_SOURCES = %D%/fuzz-memory-stat.c %D%/text.h $(fuzz_main)
fuzz_memory_stat_LDFLAGS = $(fuzz_ldflags)
fuzz_memory_stat_LDADD = libnm-monitor.la
fuzz_proc_stat_SOURCES = %D%/fuzz-proc-stat.c %D%/text.h $(fuzz_main)
fuzz_proc_stat_LDFLAGS = $(fuzz_ldflags)
fuzz_proc_stat_LDADD = libnm-monitor.la
fuzz_proc_status_SOURCES = %D%/fuzz-proc-status.c %D%/text.h $(fuzz_main)
fuzz_proc_status_LDFLAGS = $(fuzz_ldflags)
fuzz_proc_status_LDADD = libnm-monitor.la
fuzz_route_message_SOURCES = %D%/fuzz-route-message.c $(fuzz_main)
fuzz_route_message_LDFLAGS = $(fuzz_ldflags)
fuzz_route_message_LDADD = libnm-monitor.la
fuzz_smaps_rollup_SOURCES = %D%/fuzz-smaps-rollup.c %D%/text.h $(fuzz_main)
fuzz_smaps_rollup_LDFLAGS = $(fuzz_ldflags)
fuzz_smaps_rollup_LDADD = libnm-monitor.la
fuzz_statm_SOURCES = %D%/fuzz-statm.c %D%/text.h $(fuzz_main)
fuzz_statm_LDFLAGS = $(fuzz_ldflags)
fuzz_statm_LDADD = libnm-monitor.la

# agent/: nmd.conf
fuzz_programs += fuzz-config
fuzz_config_SOURCES = %D%/fuzz-config.c $(fuzz_main)
fuzz_config_LDFLAGS = $(fuzz_ldflags)
fuzz_config_LDADD = libnm-agent.la

# cgroup/: what it reads back
fuzz_programs += fuzz-cgroup-events fuzz-memory-events fuzz-psi
fuzz_cgroup_events_SOURCES = %D%/fuzz-cgroup-events.c %D%/text.h $(fuzz_main)
fuzz_cgroup_events_LDFLAGS = $(fuzz_ldflags)
fuzz_cgroup_events_LDADD = libnm-cgroup.la
fuzz_memory_events_SOURCES = %D%/fuzz-memory-events.c %D%/text.h $(fuzz_main)
fuzz_memory_events_LDFLAGS = $(fuzz_ldflags)
fuzz_memory_events_LDADD = libnm-cgroup.la
fuzz_psi_SOURCES = %D%/fuzz-psi.c %D%/text.h $(fuzz_main)
fuzz_psi_LDFLAGS = $(fuzz_ldflags)
fuzz_psi_LDADD = libnm-cgroup.la

# agent/: what shims and the journal hold
fuzz_programs += fuzz-event-file fuzz-launch-record fuzz-past fuzz-shim-spec fuzz-store
fuzz_past_SOURCES = %D%/fuzz-past.c %D%/text.h $(fuzz_main)
fuzz_past_LDFLAGS = $(fuzz_ldflags)
fuzz_past_LDADD = libnm-agent.la
fuzz_event_file_SOURCES = %D%/fuzz-event-file.c %D%/text.h $(fuzz_main)
fuzz_event_file_LDFLAGS = $(fuzz_ldflags)
fuzz_event_file_LDADD = libnm-agent.la
fuzz_launch_record_SOURCES = %D%/fuzz-launch-record.c %D%/text.h $(fuzz_main)
fuzz_launch_record_LDFLAGS = $(fuzz_ldflags)
fuzz_launch_record_LDADD = libnm-agent.la
fuzz_shim_spec_SOURCES = %D%/fuzz-shim-spec.c $(fuzz_main)
fuzz_shim_spec_LDFLAGS = $(fuzz_ldflags)
fuzz_shim_spec_LDADD = libnm-agent.la
fuzz_store_SOURCES = %D%/fuzz-store.c $(fuzz_main)
fuzz_store_LDFLAGS = $(fuzz_ldflags)
fuzz_store_LDADD = libnm-agent.la $(SQLITE_LIBS)

# rpc/local: what clients send
fuzz_programs += fuzz-http-body fuzz-http-target fuzz-json-scan
fuzz_http_body_SOURCES = %D%/fuzz-http-body.c %D%/text.h $(fuzz_main)
fuzz_http_body_LDFLAGS = $(fuzz_ldflags)
fuzz_http_body_LDADD = libnm-messages.la
fuzz_json_scan_SOURCES = %D%/fuzz-json-scan.c %D%/text.h tests/unit/counted-memory.h $(fuzz_main)
fuzz_json_scan_LDFLAGS = $(fuzz_ldflags)
fuzz_json_scan_LDADD = libnm-messages.la $(JANSSON_LIBS)
fuzz_http_target_SOURCES = %D%/fuzz-http-target.c %D%/text.h $(fuzz_main)
fuzz_http_target_LDFLAGS = $(fuzz_ldflags)
fuzz_http_target_LDADD = libnm-local.la

# rpc/hadoop: what comes over the network, and tokens from wherever
fuzz_programs += fuzz-hadoop-packet fuzz-hadoop-sasl fuzz-hadoop-session fuzz-hadoop-token
fuzz_hadoop_packet_SOURCES = %D%/fuzz-hadoop-packet.c $(fuzz_main)
fuzz_hadoop_packet_LDFLAGS = $(fuzz_ldflags)
fuzz_hadoop_packet_LDADD = libnm-hadoop.la
fuzz_hadoop_sasl_SOURCES = %D%/fuzz-hadoop-sasl.c $(fuzz_main)
fuzz_hadoop_sasl_LDFLAGS = $(fuzz_ldflags)
fuzz_hadoop_sasl_LDADD = libnm-hadoop.la $(GSASL_LIBS)
fuzz_hadoop_session_SOURCES = %D%/fuzz-hadoop-session.c $(fuzz_main)
fuzz_hadoop_session_LDFLAGS = $(fuzz_ldflags)
fuzz_hadoop_session_LDADD = libnm-hadoop.la
fuzz_hadoop_token_SOURCES = %D%/fuzz-hadoop-token.c $(fuzz_main)
fuzz_hadoop_token_LDFLAGS = $(fuzz_ldflags)
fuzz_hadoop_token_LDADD = libnm-hadoop.la

# yarn: the cluster's configuration, ids, what is to run, who may have it, and what masters want
fuzz_programs += fuzz-yarn-asks fuzz-yarn-conf fuzz-yarn-context fuzz-yarn-ids fuzz-yarn-kept fuzz-yarn-request
fuzz_yarn_asks_SOURCES = %D%/fuzz-yarn-asks.c $(fuzz_main)
fuzz_yarn_asks_LDFLAGS = $(fuzz_ldflags)
fuzz_yarn_asks_LDADD = libnm-yarn.la
fuzz_yarn_kept_SOURCES = %D%/fuzz-yarn-kept.c $(fuzz_main)
fuzz_yarn_kept_LDFLAGS = $(fuzz_ldflags)
fuzz_yarn_kept_LDADD = libnm-yarn.la
fuzz_yarn_request_SOURCES = %D%/fuzz-yarn-request.c $(fuzz_main)
fuzz_yarn_request_LDFLAGS = $(fuzz_ldflags)
fuzz_yarn_request_LDADD = libnm-yarn.la
fuzz_yarn_context_SOURCES = %D%/fuzz-yarn-context.c $(fuzz_main)
fuzz_yarn_context_LDFLAGS = $(fuzz_ldflags)
fuzz_yarn_context_LDADD = libnm-yarn.la
fuzz_yarn_conf_SOURCES = %D%/fuzz-yarn-conf.c $(fuzz_main)
fuzz_yarn_conf_LDFLAGS = $(fuzz_ldflags)
fuzz_yarn_conf_LDADD = libnm-yarn.la $(JANSSON_LIBS)
fuzz_yarn_ids_SOURCES = %D%/fuzz-yarn-ids.c %D%/text.h $(fuzz_main)
fuzz_yarn_ids_LDFLAGS = $(fuzz_ldflags)
fuzz_yarn_ids_LDADD = libnm-yarn.la

# Both sides of whole sessions, with valid keys: the other side is the target's own, and inputs are messages
rpc_peer = %D%/protobuf-wire.c %D%/protobuf-wire.h %D%/rpc-peer.c %D%/rpc-peer.h
rpc_worlds = $(rpc_peer) %D%/fake-resolve.c tests/unit/proxy-world.c tests/unit/proxy-world.h \
	tests/unit/fake-yarn-node.c tests/unit/fake-yarn-node.h tests/unit/yarn-tokens.h tests/unit/message-copy.h \
	tests/unit/remove-tree.h tests/unit/loopback.h
fuzz_programs += fuzz-hadoop-calls fuzz-hadoop-client
fuzz_hadoop_calls_SOURCES = %D%/fuzz-hadoop-calls.c $(rpc_worlds) $(fuzz_main)
fuzz_hadoop_calls_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
fuzz_hadoop_calls_LDFLAGS = $(fuzz_ldflags)
fuzz_hadoop_calls_LDADD = libnm-yarn.la libnm-agent.la $(JANSSON_LIBS) $(GSASL_LIBS) $(unit_libs)
fuzz_hadoop_client_SOURCES = %D%/fuzz-hadoop-client.c $(rpc_worlds) $(fuzz_main)
fuzz_hadoop_client_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
fuzz_hadoop_client_LDFLAGS = $(fuzz_ldflags)
fuzz_hadoop_client_LDADD = libnm-yarn.la libnm-agent.la $(JANSSON_LIBS) $(GSASL_LIBS) $(unit_libs)

# shuffle/: what reducers ask for
fuzz_programs += fuzz-shuffle-request
fuzz_shuffle_request_SOURCES = %D%/fuzz-shuffle-request.c $(fuzz_main)
fuzz_shuffle_request_LDFLAGS = $(fuzz_ldflags)
fuzz_shuffle_request_LDADD = libnm-shuffle.la

# sim/: traces, which may come from anywhere
fuzz_programs += fuzz-trace
fuzz_trace_SOURCES = %D%/fuzz-trace.c $(fuzz_main)
fuzz_trace_LDFLAGS = $(fuzz_ldflags)
fuzz_trace_LDADD = libnm-sim.la

# nmscale/: what a ResourceManager and its nodes answer, and the file of what nmscale remembers
fuzz_programs += fuzz-yarn-pages
fuzz_yarn_pages_SOURCES = %D%/fuzz-yarn-pages.c $(fuzz_main)
fuzz_yarn_pages_LDFLAGS = $(fuzz_ldflags)
fuzz_yarn_pages_LDADD = libnm-scale.la

# localize/: its work and what it says of it, archives from anywhere, what name nodes answer, what is remembered of the cache
fuzz_programs += fuzz-archive fuzz-cache-file fuzz-localize-said fuzz-localize-work fuzz-webhdfs
fuzz_localize_said_SOURCES = %D%/fuzz-localize-said.c $(fuzz_main)
fuzz_localize_said_LDFLAGS = $(fuzz_ldflags)
fuzz_localize_said_LDADD = libnm-localize.la $(JANSSON_LIBS)
fuzz_cache_file_SOURCES = %D%/fuzz-cache-file.c $(fuzz_main)
fuzz_cache_file_LDFLAGS = $(fuzz_ldflags)
fuzz_cache_file_LDADD = libnm-localize.la $(JANSSON_LIBS)
fuzz_archive_SOURCES = %D%/fuzz-archive.c $(fuzz_main)
fuzz_archive_LDFLAGS = $(fuzz_ldflags)
fuzz_archive_LDADD = libnm-localizer.la
fuzz_localize_work_SOURCES = %D%/fuzz-localize-work.c $(fuzz_main)
fuzz_localize_work_LDFLAGS = $(fuzz_ldflags)
fuzz_localize_work_LDADD = libnm-localizer.la
fuzz_webhdfs_SOURCES = %D%/fuzz-webhdfs.c $(fuzz_main)
fuzz_webhdfs_LDFLAGS = $(fuzz_ldflags)
fuzz_webhdfs_LDADD = libnm-localizer.la
