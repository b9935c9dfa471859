# nmd/: the daemon, which links the code of all folders.
noinst_LIBRARIES += libnm-daemon.a
libnm_daemon_a_SOURCES = \
	%D%/check-config.c \
	%D%/instance.c %D%/instance.h \
	%D%/instance-children.c \
	%D%/options.c \
	%D%/parts.c %D%/parts.h \
	%D%/start.c

# The linker needs the libraries in order of use: rpc and yarn before the core that they call.
daemon_libs = libnm-daemon.a $(local_libs) $(yarn_libs) $(agent_libs)

sbin_PROGRAMS += nmd/nmd
nmd_nmd_SOURCES = %D%/nmd.c
nmd_nmd_LDADD = $(daemon_libs)
nmd_nmd_LDFLAGS = $(AM_LDFLAGS) $(PACKED_LDFLAGS)

# nmd searches its own directory for the programs that it starts, so a build tree uses its own programs.
started_by_nmd = nmd/nm-shim nmd/nm-localizer nmd/nm-log-uploader nmd/nm-shuffle nmd/nm-spark-shuffle
noinst_DATA += $(started_by_nmd)
CLEANFILES += $(started_by_nmd)
nmd/nm-shim: nm-shim
	$(AM_V_GEN)$(MKDIR_P) nmd && ln -sf ../nm-shim $@
nmd/nm-localizer: nm-localizer
	$(AM_V_GEN)$(MKDIR_P) nmd && ln -sf ../nm-localizer $@
nmd/nm-log-uploader: nm-log-uploader
	$(AM_V_GEN)$(MKDIR_P) nmd && ln -sf ../nm-log-uploader $@
nmd/nm-shuffle: nm-shuffle
	$(AM_V_GEN)$(MKDIR_P) nmd && ln -sf ../nm-shuffle $@
nmd/nm-spark-shuffle: nm-spark-shuffle
	$(AM_V_GEN)$(MKDIR_P) nmd && ln -sf ../nm-spark-shuffle $@
