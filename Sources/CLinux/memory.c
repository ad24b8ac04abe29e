#define _GNU_SOURCE
#include "memory.h"
#include <malloc.h>

void clinux_trim_memory(void) { malloc_trim(0); }
