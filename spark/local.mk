# spark/: nm-spark-shuffle, which serves the shuffle files of Spark's executors. All code except main() is a library, for the
# tests.
noinst_LIBRARIES += libnm-spark.a
libnm_spark_a_SOURCES = \
	%D%/applications.c %D%/applications.h \
	%D%/auth.c %D%/auth.h \
	%D%/block.c %D%/block.h \
	%D%/block-file.c %D%/block-file.h \
	%D%/block-index.c %D%/block-index.h \
	%D%/cipher.h \
	%D%/cli.c %D%/cli.h \
	%D%/connection.c %D%/connection.h \
	%D%/control.c %D%/control.h \
	%D%/ctr-cipher.c %D%/ctr-cipher.h \
	%D%/data-files.c %D%/data-files.h \
	%D%/engine.c %D%/engine.h \
	%D%/frame.c %D%/frame.h \
	%D%/guests.c %D%/guests.h \
	%D%/local-dirs.c %D%/local-dirs.h \
	%D%/memory.c %D%/memory.h \
	%D%/message.c %D%/message.h \
	%D%/number.c %D%/number.h \
	%D%/primitive.c %D%/primitive.h \
	%D%/receiver.c %D%/receiver.h \
	%D%/registration-file.c %D%/registration-file.h \
	%D%/sasl.c %D%/sasl.h \
	%D%/sasl-cipher.c %D%/sasl-cipher.h \
	%D%/sender.c %D%/sender.h \
	%D%/server.c %D%/server.h \
	%D%/service.h \
	%D%/session.c %D%/session.h \
	%D%/streams.c %D%/streams.h
spark_libs = libnm-spark.a $(shuffle_libs) $(HOGWEED_LIBS)

pkglibexec_PROGRAMS += nm-spark-shuffle
dist_man_MANS += packaging/nm-spark-shuffle.8
nm_spark_shuffle_SOURCES = %D%/nm-spark-shuffle.c
nm_spark_shuffle_LDADD = $(spark_libs)
