# sim/: nmsim, which replays traces through the policy. All code except main() is in a library, so that tests can
# call it.
noinst_LIBRARIES += libnm-sim.a
libnm_sim_a_SOURCES = \
	%D%/cases.c %D%/cases.h \
	%D%/generate.c %D%/generate.h \
	%D%/load.c \
	%D%/options.c %D%/options.h \
	%D%/oracle.c \
	%D%/plot.c \
	%D%/progress.c %D%/progress.h \
	%D%/replay.c %D%/replay.h \
	%D%/report.c %D%/report.h \
	%D%/save.c \
	%D%/workload.c %D%/workload.h \
	%D%/sim-node.c %D%/sim-node.h \
	%D%/sim-node-use.c %D%/sim-node-use.h
sim_libs = libnm-sim.a $(json_libs) -lm $(agent_libs)

bin_PROGRAMS += sim/nmsim
sim_nmsim_SOURCES = %D%/nmsim.c
sim_nmsim_LDADD = $(sim_libs)

# Manual and completions. bash finds a completion by the command's name.
dist_man_MANS += packaging/nmsim.1
dist_zshcompletion_DATA += packaging/completion/_nmsim
bashcompletion_DATA += packaging/completion/nmsim
packaging/completion/nmsim: packaging/completion/nmsim.bash
	$(AM_V_GEN)$(MKDIR_P) packaging/completion && cp "$(srcdir)/packaging/completion/nmsim.bash" $@
CLEANFILES += packaging/completion/nmsim
EXTRA_DIST += packaging/completion/nmsim.bash
