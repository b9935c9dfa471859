/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Writes to the journal directly only if stderr is already connected to it ($JOURNAL_STREAM contains the device and
 * inode of that socket). Otherwise, for instance on a terminal or in a file, lines are plain text. One binary thus
 * works under systemd, in a shell and in tests.
 */

#include "util/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

static struct {
    bool journal;
    int level;
    uint64_t counts[LOG_DEBUG + 1];
} logger = {.journal = false, .level = LOG_INFO};

static const struct {
    const char *name;
    int level;
} levels[] = {
    {"err", LOG_ERR}, {"warning", LOG_WARNING}, {"notice", LOG_NOTICE}, {"info", LOG_INFO}, {"debug", LOG_DEBUG},
};

static bool stderr_is_journal(void)
{
    const char *e = getenv("JOURNAL_STREAM");
    struct stat st;
    uintmax_t dev, ino;

    if (!e || sscanf(e, "%" SCNuMAX ":%" SCNuMAX, &dev, &ino) != 2)
        return false;
    return fstat(STDERR_FILENO, &st) == 0 && (uintmax_t)st.st_dev == dev && (uintmax_t)st.st_ino == ino;
}

void nm_log_init(enum nm_log_target target)
{
    logger.journal = target == NM_LOG_JOURNAL || (target == NM_LOG_AUTO && stderr_is_journal());
}

void nm_log_set_level(int level)
{
    assert(level >= LOG_EMERG && level <= LOG_DEBUG);
    logger.level = level;
}

int nm_log_level(void)
{
    return logger.level;
}

uint64_t nm_log_count(int level)
{
    return logger.counts[level & LOG_PRIMASK];
}

/* Returns whether lines of this level are logged, and counts the line. */
static bool begin_line(int level)
{
    if (level > logger.level)
        return false;
    logger.counts[level & LOG_PRIMASK]++;
    return true;
}

int nm_log_level_from_string(const char *s, int *ret_level)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(levels); i++)
        if (nm_streq(s, levels[i].name)) {
            *ret_level = levels[i].level;
            return 0;
        }
    return -EINVAL;
}

static const char *level_name(int level)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(levels); i++)
        if (levels[i].level == level)
            return levels[i].name;
    return "log";
}

/* Replaces control characters, because the text may quote user input: a terminal would interpret them, and a newline
 * would split the log line. */
static void mask_control(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

static void to_stderr(int level, char *text)
{
    struct timespec ts;
    struct tm tm;
    char stamp[32] = "";

    mask_control(text);
    clock_gettime(CLOCK_REALTIME, &ts);
    if (localtime_r(&ts.tv_sec, &tm))
        (void)strftime(stamp, sizeof stamp, "%H:%M:%S", &tm);
    (void)fprintf(stderr, "%s.%03ld nmd %-7s %s\n", stamp, ts.tv_nsec / 1000000, level_name(level), text);
}

void nm_log(int level, const char *format, ...)
{
    char text[2048];
    va_list ap;

    if (!begin_line(level))
        return;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (logger.journal)
        (void)sd_journal_send("MESSAGE=%s", text, "PRIORITY=%i", level, NULL);
    else
        to_stderr(level, text);
}

void nm_log_container(int level, const char *container_id, const char *decision, const char *message_id,
                      const char *format, ...)
{
    char text[2048], id[48] = "NM_PROGRAM=nmd", container[96] = "NM_PROGRAM=nmd";
    va_list ap;

    assert(!message_id || strlen(message_id) == 32);
    if (!begin_line(level))
        return;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (!logger.journal) {
        to_stderr(level, text);
        return;
    }
    if (message_id)
        (void)snprintf(id, sizeof id, "MESSAGE_ID=%s", message_id);
    if (container_id)
        (void)snprintf(container, sizeof container, "NM_CONTAINER=%s", container_id);
    (void)sd_journal_send("MESSAGE=%s", text, "PRIORITY=%i", level, "%s", container,
                          "NM_DECISION=%s", decision ? decision : "none", "%s", id, NULL);
}
