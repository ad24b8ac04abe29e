/* Preloaded into a program it turns the program's date and lets it sleep: the file that POSTURE_CLOCK names holds two
 * numbers of eight bytes, seconds added to CLOCK_REALTIME and milliseconds added to CLOCK_BOOTTIME. A write to the file
 * is to the program what clock_settime(2) or a resume is: its cancelable timers on the date end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const struct { int64_t date, sleep; } none, *turned = &none;
static int (*real_gettime)(clockid_t, struct timespec *);
static int (*real_create)(int, int);
static int (*real_settime)(int, int, const struct itimerspec *, struct itimerspec *);
static int watch = -1;

__attribute__((constructor)) static void begin(void) {
  real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  real_create = dlsym(RTLD_NEXT, "timerfd_create");
  real_settime = dlsym(RTLD_NEXT, "timerfd_settime");
  const char *path = getenv("POSTURE_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *map = mmap(NULL, sizeof *turned, PROT_READ, MAP_SHARED, file, 0);
  if (map != MAP_FAILED) turned = map;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  if (!real_gettime) real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real_gettime(clock, now);
  if (result != 0) return result;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += turned->date;
  if (clock == CLOCK_BOOTTIME) {
    int64_t nanoseconds = now->tv_nsec + turned->sleep % 1000 * 1000000;
    now->tv_sec += turned->sleep / 1000 + nanoseconds / 1000000000;
    now->tv_nsec = nanoseconds % 1000000000;
  }
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(struct timeval *result, void *zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *result = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

/* A timer on the date is only there to be cancelled: in its place stands a watch on the file. */
int timerfd_create(int clock, int flags) {
  const char *path = getenv("POSTURE_CLOCK");
  if (clock != CLOCK_REALTIME || !path) return real_create(clock, flags);
  watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  inotify_add_watch(watch, path, IN_MODIFY);
  return watch;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *old) {
  if (fd != watch || watch < 0) return real_settime(fd, flags, value, old);
  char events[4096];
  while (read(fd, events, sizeof events) > 0) continue;
  return 0;
}
