# monitor/: samplers, and the history of what they saw.
noinst_LTLIBRARIES += libnm-monitor.la
libnm_monitor_la_SOURCES = \
	%D%/cgsample.c \
	%D%/disk.c \
	%D%/history.c \
	%D%/kread.c %D%/kread.h \
	%D%/link.c \
	%D%/linkparse.c \
	%D%/monitor.h \
	%D%/node.c \
	%D%/pagewalk.c %D%/pagewalk.h \
	%D%/parse.c %D%/parse.h \
	%D%/procmem.c %D%/procmem.h %D%/procmem-internal.h \
	%D%/proctable.c \
	%D%/sharing.c \
	%D%/rate.h
libnm_monitor_la_LIBADD = libnm-cgroup.la libnm-util.la $(NL_LIBS)
