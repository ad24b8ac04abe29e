#define _GNU_SOURCE
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

int clinux_open_in_root(int dirfd, const char *path, int flags) {
  struct open_how how;
  memset(&how, 0, sizeof how);
  how.flags = (unsigned)flags;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof how);
}

int64_t clinux_write_quietly(int fd, const void *bytes, uint64_t count) {
  sigset_t pipe_only, before, pending;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  ssize_t done = write(fd, bytes, count);
  int saved = errno;
  /* SIGPIPE is directed at the thread that wrote: take back our own, leave one that was there before. */
  if (done < 0 && saved == EPIPE && !sigismember(&pending, SIGPIPE)) {
    struct timespec none = {0, 0};
    while (sigtimedwait(&pipe_only, NULL, &none) < 0 && errno == EINTR) continue;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = saved;
  return done;
}

int clinux_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int64_t clinux_filesystem_type(const char *path) {
  struct statfs status;
  return statfs(path, &status) < 0 ? -1 : (int64_t)(unsigned)status.f_type;
}

uint32_t clinux_major(uint64_t device) { return major(device); }
uint32_t clinux_minor(uint64_t device) { return minor(device); }
