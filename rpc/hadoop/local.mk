# rpc/hadoop/: Hadoop's RPC, tokens and SASL. This code depends neither on YARN's protocols nor on agent/.
noinst_LIBRARIES += libnm-hadoop.a
libnm_hadoop_a_SOURCES = \
	%D%/arena.c %D%/arena.h \
	%D%/fields.c %D%/fields.h \
	%D%/bytes.h \
	%D%/call.c \
	%D%/client.c %D%/client.h \
	%D%/credentials.c \
	%D%/digest.c %D%/digest.h \
	%D%/exception.c %D%/exception.h \
	%D%/greeting.c \
	%D%/packet.c %D%/packet.h \
	%D%/protocol.c %D%/protocol.h \
	%D%/sasl-client.c %D%/sasl-server.c %D%/sasl.h \
	%D%/server.c %D%/server.h %D%/server-state.h \
	%D%/token.c %D%/token.h \
	%D%/wire.c %D%/wire.h \
	%D%/writable.c %D%/writable.h
nodist_libnm_hadoop_a_SOURCES = $(hadoop_messages)
hadoop_libs = libnm-hadoop.a $(PROTOBUF_C_LIBS) $(GSASL_LIBS) $(NETTLE_LIBS) $(util_libs)

# nmd's own descriptions of Hadoop's messages, compiled by protobuf-c's compiler.
hadoop_messages = \
	%D%/rpc.pb-c.c %D%/rpc.pb-c.h \
	%D%/security.pb-c.c %D%/security.pb-c.h
EXTRA_DIST += %D%/rpc.proto %D%/security.proto
BUILT_SOURCES += $(hadoop_messages)
CLEANFILES += $(hadoop_messages)
%.pb-c.c %.pb-c.h: %.proto
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(PROTOC_C) --proto_path=$(srcdir) --c_out=. $<
