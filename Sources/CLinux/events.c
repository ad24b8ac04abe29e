#define _GNU_SOURCE
#include "events.h"
#include <pthread.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <unistd.h>

static int signals(int more) {
  sigset_t set;
  sigemptyset(&set);
  if (more) sigaddset(&set, more);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0) return -1;
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int clinux_signals(void) { return signals(0); }
int clinux_signals_and_children(void) { return signals(SIGCHLD); }

int clinux_next_signal(int fd) {
  struct signalfd_siginfo info;
  return read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : -1;
}

int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
int clinux_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }
int clinux_inotify(void) { return inotify_init1(IN_CLOEXEC | IN_NONBLOCK); }

int64_t clinux_peer_uid(int fd) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ? -1 : (int64_t)peer.uid;
}

bool clinux_clock_synchronized(void) {
  struct timex state = {.modes = 0};
  return adjtimex(&state) != -1 && !(state.status & STA_UNSYNC);
}

int clinux_date_watch(void) {
  int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (fd >= 0) clinux_date_watch_again(fd);
  return fd;
}

void clinux_date_watch_again(int fd) {
  uint64_t count;
  ssize_t ignored = read(fd, &count, sizeof count);
  (void)ignored;
  struct itimerspec never = {.it_value.tv_sec = 9000000000};
  timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

/* The kernel chooses the name: a zero byte and five digits (unix(7), autobind). */
int clinux_notify_listener(char name[CLINUX_NOTIFY_NAME]) {
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  socklen_t size = sizeof address.sun_family, length = sizeof address;
  if (bind(fd, (struct sockaddr *)&address, size) < 0 || getsockname(fd, (struct sockaddr *)&address, &length) < 0) {
    int why = errno;
    close(fd);
    return errno = why, -1;
  }
  size_t count = length - offsetof(struct sockaddr_un, sun_path);
  if (count >= CLINUX_NOTIFY_NAME) count = CLINUX_NOTIFY_NAME - 1;
  memcpy(name, address.sun_path, count);
  name[0] = '@', name[count] = 0;
  return fd;
}

int clinux_notify(const char *path, const void *bytes, size_t size) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(path);
  if (length == 0 || length >= sizeof address.sun_path) return errno = EINVAL, -1;
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = 0;
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  socklen_t whole = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  ssize_t sent = sendto(fd, bytes, size, MSG_NOSIGNAL, (struct sockaddr *)&address, whole);
  close(fd);
  return sent < 0 ? -1 : 0;
}
