#ifndef CLINUX_FILES_H
#define CLINUX_FILES_H
#include <stdint.h>

/// openat2(2) with RESOLVE_IN_ROOT: absolute symlinks and ".." stay below `dirfd`. -1 and errno; ENOSYS before Linux 5.6.
int clinux_open_in_root(int dirfd, const char *path, int flags);

/// write(2) to a pipe without SIGPIPE where nobody reads any more: EPIPE only.
int64_t clinux_write_quietly(int fd, const void *bytes, uint64_t count);

/// pipe2(2) with O_CLOEXEC.
int clinux_pipe(int ends[2]);

/// The f_type of statfs(2), or -1.
int64_t clinux_filesystem_type(const char *path);

uint32_t clinux_major(uint64_t device);
uint32_t clinux_minor(uint64_t device);
#endif
