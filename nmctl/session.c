/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See session.h. One poll loop reads a frame only after the previous frame has been written, and reads input only after
 * the last input has been acknowledged. A slow reader therefore delays only its own direction, and signals are always
 * handled. With a terminal, signals are sent to the command as typed characters. Without a terminal, signal frames are
 * sent, and the third signal ends nmctl.
 */

#include "nmctl/session.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>

#include "nmctl/message.h"
#include "util/error.h"
#include "util/frame.h"
#include "util/inherited.h"

#define SIGNALS_TO_LEAVE 3
#define USUAL_ROWS 24
#define USUAL_COLUMNS 80

struct session {
    const struct nm_session_params *p;
    struct nm_frame in, out;
    size_t written;    /* bytes of `in` that have been written */
    bool wants_input;  /* the last input was acknowledged, so nmctl may read more input */
    bool reader_gone[2];
    int signal_fd, n_signals, signal;
    bool raw;
    struct termios before; /* raw: the previous settings of the terminal */
    bool ended;
    struct nm_frame_end end;
};

/* Returns the size of nmctl's terminal, or a default size if nmctl has no terminal. */
static void get_size(uint16_t *ret_rows, uint16_t *ret_columns)
{
    struct winsize w = {0};

    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_row == 0 || w.ws_col == 0)
        (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
    *ret_rows = w.ws_row > 0 ? w.ws_row : USUAL_ROWS;
    *ret_columns = w.ws_col > 0 ? w.ws_col : USUAL_COLUMNS;
}

struct nm_client_command nm_session_command(const struct nm_args *a, char **argv)
{
    struct nm_client_command c = {.argv = (const char *const *)argv, .env = a->env.list, .n_env = a->env.n};

    if (a->tty) {
        c.term = getenv("TERM");
        get_size(&c.rows, &c.columns);
    }
    return c;
}

void nm_session_report_unsendable(const char *verb, int r, const struct nm_client_bad_string *bad)
{
    if (r == -ENOMEM)
        nm_message_oom();
    nm_message("%s: %s '%s' is not valid UTF-8, and can't be sent", verb, bad->what, bad->string);
}

/* ---- to the command -------------------------------------------------------------------------- */

/* Sends a frame. The socket of a correct peer always has room: at most one input frame is unacknowledged, and all other
 * frames are small. */
static int send_frame(struct session *s)
{
    size_t sent = 0;

    while (sent < s->out.len) {
        ssize_t n = send(s->p->fd, s->out.data + sent, s->out.len - sent, MSG_NOSIGNAL);
        struct pollfd p = {.fd = s->p->fd, .events = POLLOUT};

        if (n >= 0)
            sent += (size_t)n;
        else if (errno == EAGAIN)
            (void)poll(&p, 1, -1);
        else if (errno != EINTR)
            return errno == EPIPE ? 0 : -errno; /* frames that the peer sent before it closed the connection must still
                                                   be read */
    }
    return 0;
}

static int send_input(struct session *s)
{
    ssize_t n = read(STDIN_FILENO, s->out.data + NM_FRAME_HEAD, NM_FRAME_MAX);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    /* EIO: the terminal was closed */
    nm_frame_make(&s->out, NM_FRAME_INPUT, n > 0 ? (size_t)n : 0);
    s->wants_input = false;
    return send_frame(s);
}

static int send_size(struct session *s)
{
    uint16_t rows, columns;

    get_size(&rows, &columns);
    nm_frame_make_size(&s->out, rows, columns);
    return send_frame(s);
}

int nm_session_greet(int fd)
{
    const struct nm_session_params p = {.fd = fd};
    struct session *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        nm_message_oom();
    s->p = &p;
    r = send_size(s);
    free(s);
    return r;
}

static int send_signal(struct session *s, int signal)
{
    nm_frame_make(&s->out, NM_FRAME_SIGNAL, 1);
    s->out.data[NM_FRAME_HEAD] = (uint8_t)signal;
    return send_frame(s);
}

/* Sets the terminal to raw mode. nm_session_run() restores the terminal at its end. This happens for every exit except
 * SIGKILL, because the signals that would end nmctl are blocked. After SIGSTOP and SIGCONT the raw mode is set again,
 * because the shell may have changed the settings. */
static void make_raw(struct session *s)
{
    struct termios raw;

    if (!s->raw && tcgetattr(STDIN_FILENO, &s->before) < 0)
        return;
    raw = s->before;
    cfmakeraw(&raw);
    s->raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0 || s->raw;
}

static int read_signal_event(struct session *s)
{
    struct signalfd_siginfo info;

    if (read(s->signal_fd, &info, sizeof info) != (ssize_t)sizeof info)
        return 0;
    if (info.ssi_signo == SIGCONT && s->raw)
        make_raw(s);
    if (info.ssi_signo == SIGWINCH || info.ssi_signo == SIGCONT)
        return s->p->terminal ? send_size(s) : 0;
    s->signal = (int)info.ssi_signo;
    if (++s->n_signals >= SIGNALS_TO_LEAVE || s->p->leaves)
        return -EINTR;
    return send_signal(s, s->signal);
}

/* ---- from the command ------------------------------------------------------------------------ */

static bool is_output(const struct session *s)
{
    return nm_frame_type(&s->in) == NM_FRAME_STDOUT || nm_frame_type(&s->in) == NM_FRAME_STDERR;
}

/* Returns the descriptor to which the received frame must be written; -1: the frame contains no output. */
static int output_fd(const struct session *s)
{
    if (s->in.len == 0 || nm_frame_missing_bytes(&s->in) > 0 || !is_output(s))
        return -1;
    return nm_frame_type(&s->in) == NM_FRAME_STDOUT ? STDOUT_FILENO : STDERR_FILENO;
}

/* Writes output. If the reader has closed the output, the command gets SIGPIPE once, as with a pipe. */
static int write_output(struct session *s, int fd)
{
    bool *gone = &s->reader_gone[fd == STDERR_FILENO];
    size_t size = nm_frame_size(&s->in);
    ssize_t n;
    int r = 0;

    nm_message_erase(); /* erase the message first, otherwise it would erase lines of the output */
    n = *gone ? (ssize_t)(size - s->written)
              : write(fd, nm_frame_body(&s->in) + s->written, NM_MIN(size - s->written, (size_t)PIPE_BUF));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (n < 0) {
        *gone = true;
        n = (ssize_t)(size - s->written);
        if (s->p->leaves) {
            s->signal = SIGPIPE;
            return -EINTR;
        }
        r = send_signal(s, SIGPIPE);
    }
    s->written += (size_t)n;
    if (s->written == size)
        s->in.len = s->written = 0;
    return r;
}

static int take_frame(struct session *s)
{
    int r = 0;

    if (is_output(s))
        return nm_frame_size(&s->in) > 0 ? 0 : -EBADMSG; /* the loop writes the output */
    if (nm_frame_type(&s->in) == NM_FRAME_TAKEN)
        s->wants_input = s->p->input;
    else if (nm_frame_type(&s->in) == NM_FRAME_END) {
        r = nm_frame_parse_end(&s->in, &s->end);
        s->ended = r == 0;
    } else
        r = -EBADMSG;
    s->in.len = 0;
    return r;
}

static int read_server(struct session *s)
{
    ssize_t n = recv(s->p->fd, s->in.data + s->in.len, nm_frame_missing_bytes(&s->in), 0);
    int r;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return n < 0 ? -errno : -ECONNRESET;
    r = nm_frame_received(&s->in, (size_t)n);
    return r == NM_FRAME_E_WHOLE ? take_frame(s) : r;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int round_of(struct session *s)
{
    enum { SIGNAL, CONNECTION, OUTPUT, INPUT, N };
    int out = output_fd(s), r = 0;
    struct pollfd p[N] = {
        [SIGNAL] = {s->signal_fd, POLLIN, 0},
        [CONNECTION] = {out < 0 ? s->p->fd : -1, POLLIN, 0},
        [OUTPUT] = {out, POLLOUT, 0},
        [INPUT] = {s->wants_input ? STDIN_FILENO : -1, POLLIN, 0},
    };

    if (poll(p, N, -1) < 0)
        return errno == EINTR ? 0 : -errno;
    if (p[SIGNAL].revents)
        r = read_signal_event(s);
    if (r == 0 && p[OUTPUT].revents)
        r = write_output(s, out);
    if (r == 0 && p[CONNECTION].revents)
        r = read_server(s);
    if (r == 0 && p[INPUT].revents && !s->ended)
        r = send_input(s);
    return r;
}

int nm_session_run(const struct nm_session_params *p, struct nm_frame_end *ret_end, int *ret_signal)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT};
    struct session *s = calloc(1, sizeof *s);
    int r = 0;

    assert(p->fd >= 0);
    if (!s)
        nm_message_oom();
    s->p = p;
    s->wants_input = p->input;
    s->signal_fd = nm_signals_block(signals, NM_ARRAY_SIZE(signals));
    if (s->signal_fd < 0)
        r = s->signal_fd;
    if (r == 0 && p->terminal && p->input)
        make_raw(s);
    if (r == 0 && p->terminal) /* the size may have changed since the request was sent */
        r = send_size(s);
    while (r == 0 && !s->ended)
        r = round_of(s);
    if (s->raw)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &s->before);
    *ret_signal = s->signal;
    if (r == 0)
        *ret_end = s->end;
    (void)nm_close(s->signal_fd);
    free(s);
    return r;
}

/* ---- signals --------------------------------------------------------------------------------- */

int nm_signals_block(const int *signals, size_t n)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    for (size_t i = 0; i < n; i++) {
        struct sigaction old;

        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&set, signals[i]);
    }
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    fd = RET_NERRNO(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (fd >= 0)
        (void)signal(SIGPIPE, SIG_IGN);
    return fd;
}

/* ---- standard input alone -------------------------------------------------------------------- */

/* A child process reads the input, because reading a terminal or pipe may block forever, while the parent polls three
 * other descriptors. The child process ends with its parent. The connection is then closed, and the command's input
 * ends. */

static int send_all(int fd, const struct nm_frame *f)
{
    for (size_t sent = 0; sent < f->len;) {
        ssize_t n = send(fd, f->data + sent, f->len - sent, MSG_NOSIGNAL);
        struct pollfd p = {.fd = fd, .events = POLLOUT};

        if (n >= 0)
            sent += (size_t)n;
        else if (errno == EAGAIN)
            (void)poll(&p, 1, -1);
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

/* Waits until the shim has acknowledged the last input. */
static int wait_until_taken(int fd)
{
    struct nm_frame f = {0};
    int r = 0;

    while (r == 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t n = recv(fd, f.data + f.len, nm_frame_missing_bytes(&f), 0);

        if (n > 0)
            r = nm_frame_received(&f, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            (void)poll(&p, 1, -1);
        else if (n == 0 || errno != EINTR)
            return -ECONNRESET;
    }
    return r == NM_FRAME_E_WHOLE && nm_frame_type(&f) == NM_FRAME_TAKEN ? 0 : -EBADMSG;
}

static _Noreturn void pass_on(int fd)
{
    static struct nm_frame f;
    ssize_t n;

    do {
        do
            n = read(STDIN_FILENO, f.data + NM_FRAME_HEAD, NM_FRAME_MAX);
        while (n < 0 && errno == EINTR);
        nm_frame_make(&f, NM_FRAME_INPUT, n > 0 ? (size_t)n : 0);
    } while (send_all(fd, &f) == 0 && n > 0 && wait_until_taken(fd) == 0);
    _exit(0);
}

/* Starts the child process. The signals that the parent reads from its signalfd are blocked in the parent and stay
 * blocked in the child process. */
pid_t nm_input_start(int fd)
{
    pid_t parent = getpid(), pid = fork();

    if (pid == 0) {
        nm_inherited_end_with(parent);
        pass_on(fd);
    }
    return pid < 0 ? -errno : pid;
}

void nm_input_stop(pid_t pid)
{
    if (pid <= 0)
        return;
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
