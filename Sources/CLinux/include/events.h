#ifndef CLINUX_EVENTS_H
#define CLINUX_EVENTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Blocks SIGTERM, SIGINT and SIGHUP for the calling thread (and those it starts) and returns a signalfd for them.
int clinux_signals(void);
/// The same with SIGCHLD.
int clinux_signals_and_children(void);
/// The next signal of a signalfd, or -1.
int clinux_next_signal(int fd);
/// eventfd(2), close-on-exec, not blocking.
int clinux_eventfd(void);
/// inotify_init1(2), close-on-exec, not blocking.
int clinux_inotify(void);
/// accept4(2), close-on-exec, not blocking.
int clinux_accept(int fd);
/// One datagram to a Unix socket; `path` may begin with @ for an abstract name. -1 and errno on failure.
int clinux_notify(const char *path, const void *bytes, size_t size);
#define CLINUX_NOTIFY_NAME 16
/// A datagram socket of the Unix family with an abstract name of the kernel's choice, which is put into `name` with an @
/// before it; close-on-exec, not blocking. -1 and errno on failure.
int clinux_notify_listener(char name[CLINUX_NOTIFY_NAME]);
/// Uid of the process at the other end of a Unix socket (SO_PEERCRED), or -1.
int64_t clinux_peer_uid(int fd);
/// Whether the kernel holds its clock to be set and kept by somebody (adjtimex(2) without STA_UNSYNC).
bool clinux_clock_synchronized(void);
/// A timerfd(2) that becomes readable when the date is set, or after a suspend (TFD_TIMER_CANCEL_ON_SET); -1 and errno.
int clinux_date_watch(void);
/// Takes note of a change of the date and waits for the next.
void clinux_date_watch_again(int fd);
#endif
