/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See screen.h. To avoid flicker, a picture is composed in memory and written in one operation over the old picture.
 * Each line clears only the rest of the old line. The output is enclosed in the marks of a synchronized update;
 * terminals that don't support these marks ignore them. Signals are read from a descriptor, so that every exit,
 * including Ctrl-Z, runs the code that restores the terminal.
 */

#include "nmctl/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <termios.h>

#include "nmctl/message.h"
#include "util/clock.h"

/* Selects the alternate screen without cursor and without line wrapping, because a wrapped line would move the
 * following lines down. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"
#define BEGIN "\033[?2026h\033[H"
#define END "\033[J\033[?2026l"

struct screen {
    struct nm_term term;
    bool raw; /* the settings of stdin were changed */
    struct termios saved;
    int signal_fd;
    /* set by keys and signals, and checked in each iteration */
    bool stop;
    int ended_by; /* the signal that ended the loop, SIGTERM or SIGHUP; 0 after q and Ctrl-C, the usual exits */
};

/* Writes directly instead of through stdio, because all data must be written before a signal stops nmctl. */
static void put(const char *data, size_t n)
{
    while (n > 0) {
        ssize_t w = write(STDOUT_FILENO, data, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return;
        data += w;
        n -= (size_t)w;
    }
}

/* Sets up the terminal. Is called at the start and after each Ctrl-Z. */
static void enter(struct screen *s)
{
    struct termios t;

    if (!s->term.tty)
        return;
    s->raw = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &s->saved) == 0;
    if (s->raw) {
        t = s->saved;
        t.c_lflag &=
            ~(tcflag_t)(ICANON | ECHO); /* ISIG stays set: Ctrl-C and Ctrl-Z generate signals */
        t.c_cc[VMIN] = 0;
        t.c_cc[VTIME] = 0;
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &t);
    }
    put(ENTER, strlen(ENTER));
}

/* Restores the terminal. */
static void leave(struct screen *s)
{
    if (!s->term.tty)
        return;
    put(LEAVE, strlen(LEAVE));
    if (s->raw)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &s->saved);
}

/* Writes the lines that fit on the screen. The last line has no newline, because a newline there would scroll the
 * screen. */
static void show(const struct screen *s, const char *text)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    unsigned row = 0;

    if (!f)
        nm_message_oom();
    (void)fputs(BEGIN, f);
    while (*text && row < s->term.height) {
        size_t n = strcspn(text, "\n");

        fprintf(f, "%s%.*s\033[K", row > 0 ? "\r\n" : "", (int)n, text);
        text += n + (text[n] == '\n');
        row++;
    }
    (void)fputs(END, f);
    if (fclose(f) != 0)
        nm_message_oom();
    put(out, size);
    free(out);
}

/* Draws one picture. If drawing fails, shows the error instead. */
static int draw_once(struct screen *s, struct nm_ctl *ctl, nm_screen_draw_t draw, void *userdata)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    int status;

    if (!f)
        nm_message_oom();
    if (s->term.tty)
        nm_message_set_stream(f, s->term.width);
    status = draw(ctl, f, &s->term, userdata);
    nm_message_set_stream(NULL, 0);
    if (fclose(f) != 0)
        nm_message_oom();
    if (s->term.tty)
        show(s, text);
    else
        put(text, size);
    free(text);
    return status;
}

/* Handles all blocked signals. After Ctrl-Z nmctl must stop, with the terminal restored. */
static void on_signal(struct screen *s)
{
    struct signalfd_siginfo info;

    if (read(s->signal_fd, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    switch (info.ssi_signo) {
    case SIGWINCH:
        nm_term_resize(&s->term, STDOUT_FILENO);
        break;
    case SIGTSTP:
        leave(s);
        (void)kill(getpid(), SIGSTOP);
        enter(s);
        break;
    default:
        s->stop = true;
        s->ended_by = info.ssi_signo == SIGINT ? 0 : (int)info.ssi_signo;
    }
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Decodes the bytes after the bracket in "ESC [ 5 ~" or "ESC [ A". Some terminals send "ESC O A" instead. */
static int key_of_sequence(const char *parameter, char final)
{
    static const struct {
        const char *parameters;
        char final;
        int key;
    } keys[] = {
        {"", 'A', NM_KEY_UP},    {"", 'B', NM_KEY_DOWN}, {"", 'C', NM_KEY_RIGHT},    {"", 'D', NM_KEY_LEFT},
        {"", 'H', NM_KEY_HOME},  {"", 'F', NM_KEY_END},  {"5", '~', NM_KEY_PAGE_UP}, {"6", '~', NM_KEY_PAGE_DOWN},
        {"17", '~', NM_KEY_HOME}, {"48", '~', NM_KEY_END},
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(keys); i++)
        if (keys[i].final == final &&
            (final == '~' ? *parameter && strchr(keys[i].parameters, *parameter) && !parameter[1] : !*parameter))
            return keys[i].key;
    return NM_KEY_OTHER;
}

/* Decodes a key. The bytes of a key usually arrive together, so an ESC without following bytes is the Escape key. */
int nm_screen_decode(const char *data, size_t n, size_t *ret_used)
{
    char parameter[8] = "";
    size_t i = 2;

    *ret_used = 1;
    if (data[0] != '\033')
        return (unsigned char)data[0];
    if (n < 3 || (data[1] != '[' && data[1] != 'O'))
        return NM_KEY_ESCAPE;
    while (i + 1 < n && data[i] >= 0x20 && data[i] < 0x40)
        i++;
    *ret_used = i + 1;
    (void)snprintf(parameter, sizeof parameter, "%.*s", (int)(i - 2), data + 2);
    return key_of_sequence(parameter, data[i]);
}

/* Handles all keys that have been received. */
static void on_keys(struct screen *s, nm_screen_key_t key, void *userdata)
{
    char data[64];
    ssize_t n = read(STDIN_FILENO, data, sizeof data);
    size_t used;

    if (n <= 0)
        s->raw = false; /* the terminal was closed, and SIGHUP follows */
    for (size_t at = 0; n > 0 && at < (size_t)n && !s->stop; at += used) {
        int k = nm_screen_decode(data + at, (size_t)n - at, &used);

        if (!(key && key(k, userdata)) && (k == 'q' || k == 'Q'))
            s->stop = true;
    }
}

/* Waits until the next picture is due or a key or signal requests one. */
static void wait_for(struct screen *s, uint64_t until_usec, nm_screen_key_t key, void *userdata)
{
    uint64_t now = nm_now_usec();
    struct pollfd p[3] = {
        {s->signal_fd, POLLIN, 0},
        {s->raw ? STDIN_FILENO : -1, POLLIN, 0},
        {s->term.tty ? -1 : STDOUT_FILENO, 0, 0}}; /* POLLERR: the reader of stdout has closed it */

    if (now >= until_usec || poll(p, 3, (int)((until_usec - now) / NM_USEC_PER_MSEC) + 1) <= 0)
        return;
    if (p[0].revents)
        on_signal(s);
    if (p[1].revents)
        on_keys(s, key, userdata);
    if (p[2].revents)
        s->stop = true;
}

/* Blocks the signals that would end nmctl without restoring the terminal. */
static int block_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < NM_ARRAY_SIZE(signals); i++)
        sigaddset(&set, signals[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Draws pictures until the loop ends. The exit status depends on the cause of the end: q and Ctrl-C give success,
 * SIGTERM and SIGHUP give the status of the signal. In a pipe the first failed picture ends the loop. On a terminal the
 * error is shown until nmd can be reached again. */
int nm_screen_run(struct nm_ctl *ctl, const uint64_t *period_usec, nm_screen_draw_t draw,
                  nm_screen_key_t key, void *userdata)
{
    struct screen s = {.signal_fd = block_signals()};
    int status = NM_CTL_OK;

    nm_term_init(&s.term, STDOUT_FILENO, ctl->args.no_color);
    enter(&s);
    while (!s.stop) {
        status = draw_once(&s, ctl, draw, userdata);
        if (status != NM_CTL_OK && !s.term.tty)
            break;
        wait_for(&s, nm_now_usec() + *period_usec, key, userdata);
    }
    leave(&s);
    (void)nm_close(s.signal_fd);
    if (s.ended_by)
        return 128 + s.ended_by;
    return s.term.tty ? NM_CTL_OK : status;
}
