#define _GNU_SOURCE
#include "files.h"
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int clinux_open_in_root(int dirfd, const char *path, int flags) {
  struct open_how how;
  memset(&how, 0, sizeof how);
  how.flags = (unsigned)flags;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof how);
}

int clinux_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

uint32_t clinux_major(uint64_t device) { return major(device); }
uint32_t clinux_minor(uint64_t device) { return minor(device); }
