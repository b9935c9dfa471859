# monitor/: samplers, and the history of their samples.
noinst_LIBRARIES += libnm-monitor.a
libnm_monitor_a_SOURCES = \
	%D%/cgsample.c \
	%D%/disk.c \
	%D%/history.c \
	%D%/kread.c %D%/kread.h \
	%D%/link.c \
	%D%/linkparse.c \
	%D%/monitor.h \
	%D%/node-sampler.c \
	%D%/pagewalk.c %D%/pagewalk.h \
	%D%/parse.c %D%/parse.h \
	%D%/procmem.c %D%/procmem.h %D%/procmem-internal.h \
	%D%/proctable.c \
	%D%/sharing.c \
	%D%/rate.h
monitor_libs = libnm-monitor.a $(NL_LIBS) $(cgroup_libs)
