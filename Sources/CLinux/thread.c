#define _GNU_SOURCE
#include "thread.h"
#include <sys/prctl.h>

void clinux_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
