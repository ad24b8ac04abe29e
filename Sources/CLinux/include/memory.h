#ifndef CLINUX_MEMORY_H
#define CLINUX_MEMORY_H

/// malloc_trim(3): gives free memory back to the system.
void clinux_trim_memory(void);

/// malloc(3) takes memory from the system in steps of `step` bytes, and gives none back by itself below `keep`.
void clinux_grow_memory(int step, int keep);

/// Where `needle` begins, by memmem(3); -1 where it is not there.
long clinux_find(const void *bytes, long count, const void *needle, long length);

/// Lets go of the pages of programs and libraries that can be read again from their files (madvise(2)): what starting took
/// and is not needed afterwards. Those that are needed come back one by one.
void clinux_release_code(void);

#endif
