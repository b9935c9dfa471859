# spark/: the shuffle service for Spark's executors. It is a library without a program so far.
noinst_LIBRARIES += libnm-spark.a
libnm_spark_a_SOURCES = \
	%D%/applications.c %D%/applications.h \
	%D%/block.c %D%/block.h \
	%D%/block-file.c %D%/block-file.h \
	%D%/frame.c %D%/frame.h \
	%D%/local-dirs.c %D%/local-dirs.h \
	%D%/message.c %D%/message.h \
	%D%/number.c %D%/number.h \
	%D%/primitive.c %D%/primitive.h \
	%D%/registration-file.c %D%/registration-file.h \
	%D%/session.c %D%/session.h \
	%D%/streams.c %D%/streams.h
spark_libs = libnm-spark.a $(shuffle_libs)
