#define _GNU_SOURCE
#include "process.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <grp.h>
#include <pwd.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

static int place(int from, int to) {
  int fd = from;
  if (fd < 0) fd = open("/dev/null", to == 0 ? O_RDONLY : O_WRONLY);
  return fd < 0 ? -1 : dup2(fd, to);
}

/// Descriptors given as 0, 1 or 2 would be overwritten while they are placed.
static int out_of_the_way(int fd) { return fd >= 0 && fd < 3 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : fd; }

static void become_child(const char *path, char *const argv[], char *const envp[], int in, int out, int err) {
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();
  in = out_of_the_way(in), out = out_of_the_way(out), err = out_of_the_way(err);
  if (place(in, 0) < 0 || place(out, 1) < 0 || place(err, 2) < 0) return;
  if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
    for (int fd = 3; fd < 4096; fd++) fcntl(fd, F_SETFD, FD_CLOEXEC);
  execve(path, argv, envp);
}

int clinux_spawn(const char *path, char *const argv[], char *const envp[], int in, int out, int err) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) < 0) return -1;
  /* All signals stay blocked between fork and the child's reset, so that no handler of the parent runs in the child. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  /* The parent waits until the child is another program: nothing of its memory has to be copied. */
  pid_t pid = vfork();
  if (pid == 0) {
    /* The parent's descriptor numbers may collide with 0..2 only for `report` if those were closed: move it away. */
    int tell = out_of_the_way(report[1]);
    become_child(path, argv, envp, in, out, err);
    int why = errno;
    ssize_t ignored = write(tell, &why, sizeof why);
    (void)ignored;
    _exit(127);
  }
  int saved = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(report[1]);
  int why = 0;
  if (pid > 0) {
    ssize_t got;
    do got = read(report[0], &why, sizeof why);
    while (got < 0 && errno == EINTR);
    if (got > 0) {
      waitpid(pid, NULL, 0);
      saved = why;
      pid = -1;
    }
  }
  close(report[0]);
  if (pid < 0) errno = saved;
  return pid;
}

static int set_capabilities(__u32 low) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[2] = {{low, low, low}, {0, 0, 0}};
  return (int)syscall(SYS_capset, &header, data);
}

/* A user without an account has no groups but its own. */
static int take_groups(uint32_t uid, uint32_t gid, bool with_account) {
  struct passwd *account = with_account ? getpwuid(uid) : NULL;
  return account ? initgroups(account->pw_name, gid) : setgroups(0, NULL);
}

int clinux_become(uint32_t uid, uint32_t gid, bool keep_read_search) {
  __u32 kept = keep_read_search ? 1U << CAP_DAC_READ_SEARCH : 0;
  if (prctl(PR_SET_KEEPCAPS, keep_read_search ? 1 : 0) < 0) return -1;
  if (geteuid() == 0) {
    for (int cap = 0; cap <= 63; cap++)
      if (!((kept >> (cap < 32 ? cap : 31)) & 1U) || cap >= 32) prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    if (take_groups(uid, gid, keep_read_search) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0) return -1;
  }
  if (set_capabilities(kept) < 0) return -1;
  if (keep_read_search && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0) < 0) return -1;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int clinux_drop_network(void) { return unshare(CLONE_NEWNET); }
int clinux_not_dumpable(void) { return prctl(PR_SET_DUMPABLE, 0); }

static int act_as_user(uint32_t uid) { return (int)syscall(SYS_setresuid, (uid_t)-1, (uid_t)uid, (uid_t)-1); }
static int act_as_group(uint32_t gid) { return (int)syscall(SYS_setresgid, (gid_t)-1, (gid_t)gid, (gid_t)-1); }

/* Root changes its group while it may, and comes back to be root before it changes it again. */
int clinux_act_as(uint32_t uid, uint32_t gid) {
  if (uid == 0) return act_as_user(uid) < 0 ? -1 : act_as_group(gid);
  if (act_as_group(gid) < 0) return -1;
  return act_as_user(uid);
}
