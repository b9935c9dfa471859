# tests/yarn/: programs on rpc/hadoop/ that talk with Hadoop's own ends; tests/yarn/run starts them.
check_PROGRAMS += rpc-node rpc-containers
yarn_messages = %D%/nodes.pb-c.c %D%/nodes.pb-c.h
rpc_node_SOURCES = %D%/rpc-node.c
nodist_rpc_node_SOURCES = $(yarn_messages)
rpc_node_LDADD = libnm-hadoop.la libnm-util.la $(PROTOBUF_C_LIBS) $(SYSTEMD_LIBS)
rpc_containers_SOURCES = %D%/rpc-containers.c
nodist_rpc_containers_SOURCES = $(yarn_messages)
rpc_containers_LDADD = libnm-hadoop.la libnm-util.la $(PROTOBUF_C_LIBS) $(SYSTEMD_LIBS)
BUILT_SOURCES += $(yarn_messages)
CLEANFILES += $(yarn_messages)
EXTRA_DIST += %D%/nodes.proto %D%/run %D%/10-register.sh %D%/20-token.sh %D%/TokenClient.java
