#ifndef CLINUX_MEMORY_H
#define CLINUX_MEMORY_H

/// malloc_trim(3): gives free memory back to the system.
void clinux_trim_memory(void);
#endif
