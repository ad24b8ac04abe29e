#ifndef CLINUX_GUARD_H
#define CLINUX_GUARD_H

/// Calls `call(first, second)`. An assert(3) that fails in it does not end the process: the call is left where it was, with
/// `failed` as its result, and what it was working on is of no further use. For C that aborts on input of a peer;
/// nothing but C may lie between this call and the assertion.
int clinux_guarded(int (*call)(void *, int), void *first, int second, int failed);
#endif
