#ifndef CLINUX_THREAD_H
#define CLINUX_THREAD_H

/// pthread_setname_np(3) of the calling thread; cut to 15 bytes.
void clinux_name_thread(const char *name);
#endif
