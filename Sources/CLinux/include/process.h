#ifndef CLINUX_PROCESS_H
#define CLINUX_PROCESS_H
#include <stdbool.h>
#include <stdint.h>

/// Starts `path` with a clean signal mask and default handlers, its own session, and the given descriptors as its
/// standard input, output and error (each may be -1 for /dev/null); every other descriptor is closed.
/// The child dies with the thread that started it (PR_SET_PDEATHSIG). Returns the pid, or -1 and errno (also when exec fails).
int clinux_spawn(const char *path, char *const argv[], char *const envp[], int in, int out, int err);

static inline bool clinux_exited(int status) { return (status & 0x7f) == 0; }
static inline int clinux_exit_status(int status) { return (status >> 8) & 0xff; }
static inline int clinux_term_signal(int status) { return status & 0x7f; }

/// Drops every capability but CAP_DAC_READ_SEARCH (kept, ambient, across the change of uid) or, with `keep` false, all
/// of them; then changes to gid and uid, and sets no_new_privs. Further groups are those of the account where the
/// capability is kept (that of the TPM's device), and none otherwise. -1 and errno on failure.
int clinux_become(uint32_t uid, uint32_t gid, bool keep_read_search);
/// The calling thread alone takes on another effective gid and uid (setresgid(2), setresuid(2) past the C library, which
/// would change every thread). -1 and errno on failure.
int clinux_act_as(uint32_t uid, uint32_t gid);
/// unshare(2) of the network: no interface but a loopback that is down.
int clinux_drop_network(void);
/// No core dump, and no ptrace by processes of the same uid.
int clinux_not_dumpable(void);
#endif
