# The shell suites, and the machine that some of them run on: whole folders, so that a new suite
# needs no line here.
EXTRA_DIST += .ci/run %D%/.shellcheckrc %D%/demo %D%/deps %D%/docs %D%/tap.sh %D%/progress.sh %D%/suites.sh %D%/ask.sh %D%/changed %D%/changed.table \
	%D%/style %D%/fresh %D%/coverage %D%/package %D%/vm %D%/integration %D%/packing

# The linker is told of it by name (configure.ac), so it is there before anything is linked.
if ENABLE_COVERAGE
BUILT_SOURCES += %D%/coverage/hooks.o
CLEANFILES += %D%/coverage/hooks.o
endif
%D%/coverage/hooks.o: %D%/coverage/hooks.c
	@$(MKDIR_P) %D%/coverage
	$(AM_V_CC)$(CC) $(CFLAGS) -c -o $@ $<

if ENABLE_TESTS
include tests/unit/local.mk
include tests/fuzz/local.mk
endif
# of tests/fuzz and tests/unit; automake takes .PHONY under one condition only
.PHONY: fuzz print-tests
include tests/yarn/local.mk
include tests/bench/local.mk

# ./check has the name of a target: in EXTRA_DIST, make would run all tests in order to have it.
# A directory in EXTRA_DIST is taken from the build tree as well as from the sources: objects must not travel.
dist-hook:
	cp -p $(srcdir)/check $(distdir)/check
	find $(distdir)/tests \( -name '*.o' -o -name '*.lo' -o -name .deps -o -name .dirstamp \) \
		-prune -exec rm -rf {} +
