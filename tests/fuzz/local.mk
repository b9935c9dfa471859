# Fuzz targets: one LLVMFuzzerTestOneInput per file and parser of foreign bytes, corpus in corpus/<name>/. make check
# links them with replay.c, which feeds the corpus. To fuzz: configure CC=clang --enable-fuzzers
# CFLAGS="-g -O1 -fsanitize=fuzzer-no-link,address,undefined", then ./fuzz-<name> a-directory-of-yours <corpus>.
if ENABLE_FUZZERS
fuzz_main =
fuzz_ldflags = $(AM_LDFLAGS) -fsanitize=fuzzer
else
fuzz_main = %D%/replay.c
fuzz_ldflags = $(AM_LDFLAGS)
TESTS += $(fuzz_programs)
endif
EXTRA_DIST += %D%/corpus

fuzz_programs =
check_PROGRAMS += $(fuzz_programs)

fuzz_programs += fuzz-http-reply
fuzz_http_reply_SOURCES = %D%/fuzz-http-reply.c $(fuzz_main)
fuzz_http_reply_LDFLAGS = $(fuzz_ldflags)
fuzz_http_reply_LDADD = libnm-client.la
