/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See screen.h. No flicker: a picture is made in memory and written at once over the old one, each
 * line clearing only what is left of its predecessor, between the marks of a synchronized update
 * (terminals that don't know them ignore them). Signals come through a descriptor, so that every
 * way out, Ctrl-Z too, passes through the code that gives the terminal back.
 */

#include "nmctl/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <termios.h>

#include "nmctl/message.h"
#include "util/clock.h"

/* Alternate screen, no cursor, no wrapping: a line that is too long must not push the others down.
 */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"
#define BEGIN "\033[?2026h\033[H"
#define END "\033[J\033[?2026l"

struct screen {
    struct nm_term term;
    bool raw; /* stdin's settings were changed */
    struct termios saved;
    int signal_fd;
    /* set by keys and signals; looked at once in each round */
    bool stop;
    int ended_by; /* SIGTERM or SIGHUP, 0 for q and Ctrl-C, which are the usual ways out */
};

/* Past stdio: what is written must be on its way before a signal stops us. */
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

/* Takes the terminal; once again after each Ctrl-Z. */
static void enter(struct screen *s)
{
    struct termios t;

    if (!s->term.tty)
        return;
    s->raw = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &s->saved) == 0;
    if (s->raw) {
        t = s->saved;
        t.c_lflag &=
            ~(tcflag_t)(ICANON | ECHO); /* ISIG stays: Ctrl-C and Ctrl-Z are signals as usual */
        t.c_cc[VMIN] = 0;
        t.c_cc[VTIME] = 0;
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &t);
    }
    put(ENTER, strlen(ENTER));
}

/* Gives it back as it was. */
static void leave(struct screen *s)
{
    if (!s->term.tty)
        return;
    put(LEAVE, strlen(LEAVE));
    if (s->raw)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &s->saved);
}

/* Line by line, at most as many as there is room for; the last one without a newline, which would
 * scroll. */
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

/* A picture that fails shows why, in the place of what it would have shown. */
static int draw_once(struct screen *s, struct nm_ctl *ctl, nm_screen_draw_t draw, void *userdata)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    int status;

    if (!f)
        nm_message_oom();
    if (s->term.tty)
        nm_message_to(f, s->term.width);
    status = draw(ctl, f, &s->term, userdata);
    nm_message_to(NULL, 0);
    if (fclose(f) != 0)
        nm_message_oom();
    if (s->term.tty)
        show(s, text);
    else
        put(text, size);
    free(text);
    return status;
}

/* Every signal that we hold back. Stopped is what the shell wants after Ctrl-Z, with its screen as
 * it was. */
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

/* Decodes what follows the bracket of "ESC [ 5 ~" or "ESC [ A" (some terminals send "ESC O A"). */
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

/* The bytes of a key usually arrive in one piece, so an ESC that nothing follows is taken for the Escape key. */
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

/* Handles all keys that have been typed. */
static void on_keys(struct screen *s, nm_screen_key_t key, void *userdata)
{
    char data[64];
    ssize_t n = read(STDIN_FILENO, data, sizeof data);
    size_t used;

    if (n <= 0)
        s->raw = false; /* the terminal has gone; SIGHUP comes with it */
    for (size_t at = 0; n > 0 && at < (size_t)n && !s->stop; at += used) {
        int k = nm_screen_decode(data + at, (size_t)n - at, &used);

        if (!(key && key(k, userdata)) && (k == 'q' || k == 'Q'))
            s->stop = true;
    }
}

/* Until the next picture is due, or something asks for one now. */
static void wait_for(struct screen *s, uint64_t until_usec, nm_screen_key_t key, void *userdata)
{
    uint64_t now = nm_now_usec();
    struct pollfd p[3] = {
        {s->signal_fd, POLLIN, 0},
        {s->raw ? STDIN_FILENO : -1, POLLIN, 0},
        {s->term.tty ? -1 : STDOUT_FILENO, 0, 0}}; /* POLLERR: our reader has gone */

    if (now >= until_usec || poll(p, 3, (int)((until_usec - now) / NM_USEC_PER_MSEC) + 1) <= 0)
        return;
    if (p[0].revents)
        on_signal(s);
    if (p[1].revents)
        on_keys(s, key, userdata);
    if (p[2].revents)
        s->stop = true;
}

/* None of them may end us while the terminal is ours. */
static int hold_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < NM_ARRAY_SIZE(signals); i++)
        sigaddset(&set, signals[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* What ends it is told by the status: q and Ctrl-C are the usual way out of a picture and no
 * failure; SIGTERM and SIGHUP are somebody else's wish. In a pipe the first failure ends it, on a
 * screen it is shown until nmd is back. */
int nm_screen_run(struct nm_ctl *ctl, const uint64_t *period_usec, nm_screen_draw_t draw,
                  nm_screen_key_t key, void *userdata)
{
    struct screen s = {.signal_fd = hold_signals()};
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
