#ifndef CLINUX_EPOLL_H
#define CLINUX_EPOLL_H
#include <stdint.h>

/// epoll_create1(2), close-on-exec.
int clinux_epoll(void);
/// Watches `fd` for POLLIN, POLLOUT (their epoll values are the same), replacing what was watched before; `tag` comes
/// back with each event. -1 and errno.
int clinux_epoll_watch(int epoll, int fd, uint32_t events, uint64_t tag);
/// epoll_wait(2): fills at most `most` tags and events; `timeout` in milliseconds, -1 for ever.
int clinux_epoll_wait(int epoll, uint64_t *tags, uint32_t *events, int most, int timeout);
#endif
