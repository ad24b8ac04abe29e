/// What the Glibc module map of Swift leaves out: system calls without a wrapper, computed macros, variadics.
/// No system header is included here: a type that two modules declare would belong to this one in Swift's eyes.
#ifndef CLINUX_H
#define CLINUX_H
#include "files.h"
#include "fscrypt.h"
#include "process.h"
#include "events.h"
#include "epoll.h"
#include "thread.h"
#include "memory.h"
#include "guard.h"
#endif
