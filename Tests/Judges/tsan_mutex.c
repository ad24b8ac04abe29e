/* Preloaded into a program under the thread sanitizer it tells that of the locks which the sanitizer cannot see: Swift's
 * Mutex takes and leaves a lock that nobody else wants in code that is compiled into the program, where the sanitizer
 * looks on, and goes to the kernel in libswiftSynchronization, which is not instrumented, where somebody else does. Without
 * this the first lock that two threads want at once is reported as a race on what it guards. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex

typedef SWIFT void lock_function(uint32_t thread, SELF);
typedef SWIFT void unlock_function(SELF);

/* Missing in a program that merely starts the one it is meant for. */
extern void __tsan_acquire(void *) __attribute__((weak));
extern void __tsan_release(void *) __attribute__((weak));
SWIFT void lock_slowly(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void unlock_slowly(SELF) __asm__(UNLOCK);

static lock_function *lock;
static unlock_function *unlock;

__attribute__((constructor)) static void begin(void) {
  lock = (lock_function *)dlsym(RTLD_NEXT, LOCK);
  unlock = (unlock_function *)dlsym(RTLD_NEXT, UNLOCK);
}

SWIFT void lock_slowly(uint32_t thread, SELF) {
  lock(thread, mutex);
  if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slowly(SELF) {
  if (__tsan_release) __tsan_release(mutex);
  unlock(mutex);
}
