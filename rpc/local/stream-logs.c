/* SPDX-License-Identifier: Apache-2.0 */

/* Streams a container's output: the existing output and, with `follow`, future output until the container has ended. */

#include "rpc/local/handlers.h"

#include <sys/inotify.h>
#include <time.h>

#include "agent/launch/output-times.h"
#include "rpc/local/client/reply.h"
#include "rpc/local/messages.h"
#include "rpc/local/stream.h"
#include "util/loop.h"

/* Polling interval for a file that inotify can't watch because no watches are left. */
#define POLL_USEC (250 * NM_USEC_PER_MSEC)

struct log_request {
    const char *name;         /* "stdout" or "stderr" */
    const char *container_id; /* the manager's id of the container */
    bool follow;
    uint64_t from; /* first byte of the output to send */
    uint64_t tail; /* number of newest lines to start with; UINT64_MAX: start at `from` */
    uint64_t since_usec; /* CLOCK_REALTIME; older lines are omitted; 0: no lines are omitted */
    bool stamped;  /* each line begins with the time at which it was written */
};

static int on_changed(sd_event_source *source, const struct inotify_event *e, void *userdata)
{
    (void)source, (void)e;
    nm_stream_wake(userdata);
    return 0;
}

static int on_poll(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)usec;
    nm_stream_wake(userdata);
    (void)sd_event_source_set_time_relative(source, POLL_USEC);
    return 0;
}

/* Resumes the stream when its file grows or is renamed, because a renamed file has been replaced by a newer one. The
 * watched path is /proc's path of the descriptor, so that it refers to the same file. */
static int watch_file(struct nm_stream *s)
{
    char path[32];
    int r;

    s->changed = sd_event_source_disable_unref(s->changed);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", s->log.piece.fd);
    r = sd_event_add_inotify(s->call->host->event, &s->changed, path, IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF,
                             on_changed, s);
    if (r >= 0)
        return sd_event_source_set_priority(s->changed, NM_LOOP_WORK);
    r = sd_event_add_time_relative(s->call->host->event, &s->changed, CLOCK_MONOTONIC, POLL_USEC, 0,
                                   on_poll, s);
    if (r >= 0)
        r = sd_event_source_set_priority(s->changed, NM_LOOP_WORK);
    return r < 0 ? r : sd_event_source_set_enabled(s->changed, SD_EVENT_ON);
}

/* Reads more output. If another file was opened, watches this file and then reads again, because the file may have
 * changed before the watch. Fails if the file can't be watched, because the stream would otherwise stop without an
 * error. */
static ssize_t read_more(struct nm_stream *s, char *buf, size_t max)
{
    ssize_t n;
    bool moved;
    int r;

    do {
        n = nm_log_reader_read(&s->log, buf, max, &moved);
        r = moved && s->follow ? watch_file(s) : 0;
    } while (n == 0 && r >= 0 && moved && s->follow);
    return n >= 0 && r < 0 ? r : n;
}

static ssize_t read_logs(void *userdata, uint64_t pos, char *buf, size_t max)
{
    struct nm_stream *s = userdata;
    bool last =
        s->completed || !s->follow; /* evaluated before reading, so that all output written before the container's end
                                       is read */
    ssize_t n;

    (void)pos;
    if (nm_stream_stopped(s))
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (!nm_stream_begin_turn(s))
        return 0;
    n = read_more(s, buf, max);
    nm_call_end_turn(s->call);
    if (n > 0)
        return n;
    if (n < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (last)
        return MHD_CONTENT_READER_END_OF_STREAM;
    nm_stream_sleep(s);
    return 0;
}

/* ---- with times ------------------------------------------------------------------------------ */

#define STAMP_SIZE 32
#define PIECE 4096
#define PIECES_MAX 16u /* maximum number of pieces per turn of the event loop while no line is printed */

/* Prints the time in RFC 3339 format, UTC, with a fixed length. */
static void print_stamp(FILE *f, uint64_t usec)
{
    time_t t = (time_t)(usec / NM_USEC_PER_SEC);
    char day[STAMP_SIZE] = "-";
    struct tm tm;

    if (usec == 0 || !gmtime_r(&t, &tm) || strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        (void)fprintf(f, "%-24s ", "-");
    else
        (void)fprintf(f, "%s.%03uZ ", day, (unsigned)(usec % NM_USEC_PER_SEC / NM_USEC_PER_MSEC));
}

static int open_times(struct nm_stream *s, int *ret_fd, struct nm_problem *ret_problem)
{
    return nm_manager_open_log_times(s->call->manager, &s->call->caller, s->container_id, s->log.stream, ret_fd,
                                     ret_problem);
}

/* Opens the file with the times of lines if it has been created or replaced. This file is created with the first output
 * and replaced when it is full. Without the file, lines have no times. */
static void refresh_times(struct nm_stream *s)
{
    struct nm_problem problem;
    int fd;

    if (!s->stamped || !nm_output_times_reader_is_old(&s->times) ||
        open_times(s, &fd, &problem) != 0)
        return;
    nm_output_times_reader_done(&s->times);
    nm_output_times_reader_init(&s->times, fd);
}

/* Writes the lines with their times. With since_usec, omits the rest of a line that began before the requested time. */
static void write_lines(struct nm_stream *s, FILE *f, const char *data, size_t n, uint64_t offset)
{
    while (n > 0) {
        const char *end = memchr(data, '\n', n);
        size_t k = end ? (size_t)(end - data) + 1 : n;

        if (!s->in_line && s->stamped && !s->skipping)
            print_stamp(f, nm_output_times_of(&s->times, offset));
        if (!s->skipping)
            (void)fwrite(data, 1, k, f);
        s->skipping = s->skipping && !end;
        s->in_line = !end;
        data += k;
        offset += k;
        n -= k;
    }
}

/* Writes the next lines. The container's command controls the length of a line, so a line that isn't shown may be as
 * long as the log. Such a line is read over many turns of the event loop. */
static int refill_lines(struct nm_stream *s, FILE *f)
{
    bool last = s->completed || !s->follow;
    unsigned n_pieces = 0;
    char data[PIECE];
    ssize_t n;

    do {
        n = read_more(s, data, sizeof data);
        if (n > 0) {
            refresh_times(s);
            write_lines(s, f, data, (size_t)n, nm_log_reader_begin_of(&s->log, (size_t)n));
        }
    } while (n > 0 && ftell(f) == 0 && ++n_pieces < PIECES_MAX);
    if (n < 0)
        return (int)n;
    if (n == 0 && last)
        s->follow = false;
    if (n == 0)
        return -ENODATA;
    return ftell(f) > 0 ? 0 : -EAGAIN;
}

static ssize_t read_lines(void *userdata, uint64_t pos, char *buf, size_t max)
{
    (void)pos;
    return nm_stream_read_text(userdata, refill_lines, buf, max);
}

static int open_at(struct nm_stream *s, uint64_t from, struct nm_problem *ret_problem)
{
    s->log.from = from;
    s->log.tail = UINT64_MAX;
    return nm_log_reader_open(&s->log, ret_problem);
}

/* Starts at byte `from`, or at the current end of the output if the end is earlier. The byte before this position shows
 * whether a line begins there. If that byte was cut, the stream starts with a line that nmd inserts. */
static int begin_at(struct nm_stream *s, uint64_t from, bool skip, struct nm_problem *ret_problem)
{
    char before = '\n';
    bool moved;
    int r = open_at(s, INT64_MAX, ret_problem);

    from = NM_MIN(from, nm_log_reader_position(&s->log));
    if (r == 0)
        r = open_at(s, from - (from > 0), ret_problem);
    if (r != 0 || from == 0 || s->log.next < s->log.piece.head)
        return r;
    if (nm_log_reader_read(&s->log, &before, 1, &moved) < 0)
        return -EIO;
    s->in_line = before != '\n';
    s->skipping = skip && s->in_line;
    return 0;
}

/* Finds the first byte that was written at or after since_usec. */
static int find_since(struct nm_stream *s, uint64_t since_usec, uint64_t *ret, struct nm_problem *ret_problem)
{
    _cleanup_close_ int fd = -EBADF;
    int r = open_times(s, &fd, ret_problem);

    if (r == -ENOENT && nm_log_reader_position(&s->log) == 0 && nm_log_reader_is_empty(&s->log)) {
        *ret = 0;
        return 0;
    }
    if (r == -ENOENT)
        return nm_messages_problem(ret_problem, NM_AGENT_E_CONFLICT, "since_usec", "",
                                   "The times of the output of %s are not known, because an earlier nmd started it.",
                                   s->container_id);
    if (r != 0)
        return r;
    *ret = NM_MIN(nm_output_times_since(fd, since_usec), (uint64_t)INT64_MAX);
    return 0;
}

/* Starts at since_usec or `from`. If the newest lines were requested (tail), the caller has already opened the file. */
static int begin_lines(struct nm_stream *s, const struct log_request *p, struct nm_problem *ret_problem)
{
    uint64_t since = 0;
    int fd, r = 0;

    s->stamped = p->stamped;
    if (p->stamped)
        r = open_times(s, &fd, ret_problem);
    if (p->stamped && r == 0)
        nm_output_times_reader_init(&s->times, fd);
    if (r == 0 || r == -ENOENT)
        r = p->since_usec > 0 ? find_since(s, p->since_usec, &since, ret_problem) : 0;
    if (r != 0)
        return r;
    if (p->since_usec > 0 && nm_log_reader_position(&s->log) < since)
        return begin_at(s, since, true, ret_problem);
    return p->from > 0 ? begin_at(s, p->from, false, ret_problem) : 0;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Adds a header with the position of the first byte. A client that loses the connection counts the received bytes and
 * resumes at the position after them. A line that nmd inserted at the beginning (after a cut) counts too. If the first
 * byte is inside a line that isn't shown, no header is sent, because the position isn't known yet. */
static void report_position(const struct nm_stream *s)
{
    uint64_t next = s->log.piece.base + s->log.next;
    char position[24];

    if (s->skipping || next < s->log.piece.head)
        return;
    (void)snprintf(position, sizeof position, "%" PRIu64, next - s->log.piece.head);
    (void)MHD_add_response_header(s->call->answer, NM_REPLY_LOG_POSITION, position);
}

static int answer_logs(struct nm_call *call, const struct log_request *p)
{
    const struct nm_container *c;
    struct nm_stream *s;
    uint64_t size = MHD_SIZE_UNKNOWN;
    bool whole = true, lines = p->stamped || p->since_usec > 0;
    int r = nm_manager_find(call->manager, &call->caller, p->container_id, &c, &call->problem);

    if (r != 0)
        return r;
    r = nm_stream_new(call, NM_STREAM_LOGS);
    if (r < 0)
        return r;
    s = call->stream;
    s->follow = p->follow;
    s->completed = c->view.state == NM_COMPLETED;
    memcpy(s->container_id, c->id, sizeof s->container_id);
    nm_log_reader_init(&s->log, call->manager, &call->caller, c->id, p->name);
    s->log.tail = p->tail;
    s->log.from = p->from;
    r = nm_log_reader_open(&s->log, &call->problem);
    if (r == 0 && lines)
        r = begin_lines(s, p, &call->problem);
    if (r == 0 && s->follow && s->log.is_open)
        r = watch_file(s);
    if (r == 0 && !s->follow)
        r = nm_log_reader_stop_at_end(&s->log, &size, &whole, &call->problem);
    if (r != 0)
        return r;
    /* Announces the length only if the length can't change. */
    if (lines || !(whole || s->completed))
        size = MHD_SIZE_UNKNOWN;
    r = nm_stream_answer(s, size, "application/octet-stream", lines ? read_lines : read_logs);
    if (r == 0)
        report_position(s);
    return r;
}

int nm_handle_logs(struct nm_call *call)
{
    const char *stream = nm_target_query(&call->target, "stream");
    struct log_request p = {.tail = UINT64_MAX};
    const struct nm_container *c;
    int r;

    if (!stream)
        stream = "stdout";
    if (!nm_streq(stream, "stdout") && !nm_streq(stream, "stderr"))
        return nm_messages_problem(&call->problem, NM_AGENT_E_INVALID, "stream", stream,
                                   "stream must be stdout or stderr, not \"%s\".", stream);
    r = nm_call_query_bool(call, "follow", &p.follow);
    if (r == 0)
        r = nm_call_query_u64(call, "tail", 0, INT64_MAX, &p.tail);
    if (r == 0)
        r = nm_call_query_u64(call, "from", 0, INT64_MAX, &p.from);
    if (r == 0)
        r = nm_call_query_u64(call, "since_usec", 0, INT64_MAX, &p.since_usec);
    if (r == 0)
        r = nm_call_query_bool(call, "timestamps", &p.stamped);
    if (r == 0)
        r = nm_manager_find(call->manager, &call->caller, call->id, &c, &call->problem);
    if (r != 0)
        return r;
    p.name = stream;
    p.container_id = c->id;
    return answer_logs(call, &p);
}
