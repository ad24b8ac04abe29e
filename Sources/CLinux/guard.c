#define _GNU_SOURCE
#include "guard.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local jmp_buf *guard;

int clinux_guarded(int (*call)(void *, int), void *first, int second, int failed) {
  jmp_buf here;
  jmp_buf *outer = guard;
  guard = &here;
  int result = setjmp(here) == 0 ? call(first, second) : failed;
  guard = outer;
  return result;
}

/// Takes the place of the C library's for every library of the process (assert.h calls it by this name).
__attribute__((noreturn, visibility("default"))) void __assert_fail(
    const char *assertion, const char *file, unsigned int line, const char *function) {
  if (guard) longjmp(*guard, 1);
  dprintf(2, "%s:%u: %s: assertion failed: %s\n", file, line, function ? function : "?", assertion);
  abort();
}
