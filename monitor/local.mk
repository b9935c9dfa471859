# monitor/: samplers, and the history of what they saw.
noinst_LTLIBRARIES += libnm-monitor.la
libnm_monitor_la_SOURCES = \
	%D%/monitor.h
libnm_monitor_la_LIBADD = libnm-cgroup.la libnm-util.la $(NL_LIBS)
