#define _GNU_SOURCE
#include "epoll.h"
#include <errno.h>
#include <sys/epoll.h>

int clinux_epoll(void) { return epoll_create1(EPOLL_CLOEXEC); }

int clinux_epoll_watch(int epoll, int fd, uint32_t events, uint64_t tag) {
  struct epoll_event event = {.events = events, .data.u64 = tag};
  int result = epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
  return result < 0 && errno == ENOENT ? epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) : result;
}

int clinux_epoll_wait(int epoll, uint64_t *tags, uint32_t *events, int most, int timeout) {
  struct epoll_event found[64];
  int count = epoll_wait(epoll, found, most < 64 ? most : 64, timeout);
  for (int i = 0; i < count; i++) tags[i] = found[i].data.u64, events[i] = found[i].events;
  return count;
}
