#define _GNU_SOURCE
#include "memory.h"
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void clinux_trim_memory(void) { malloc_trim(0); }

void clinux_grow_memory(int step, int keep) {
  mallopt(M_TOP_PAD, step);
  mallopt(M_TRIM_THRESHOLD, keep);
}

long clinux_find(const void *bytes, long count, const void *needle, long length) {
  const char *found = memmem(bytes, count, needle, length);
  return found ? found - (const char *)bytes : -1;
}

/* Never the segments that were ever writable: their pages would come back as they are in the file. */
static int release(struct dl_phdr_info *object, size_t size, void *mask) {
  (void)size;
  uintptr_t page = *(uintptr_t *)mask;
  for (int number = 0; number < object->dlpi_phnum; number++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[number];
    if (part->p_type != PT_LOAD || part->p_flags & PF_W) continue;
    uintptr_t start = (object->dlpi_addr + part->p_vaddr) & page;
    uintptr_t end = object->dlpi_addr + part->p_vaddr + part->p_filesz;
    madvise((void *)start, end - start, MADV_DONTNEED);
  }
  return 0;
}

void clinux_release_code(void) {
  uintptr_t mask = ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
  dl_iterate_phdr(release, &mask);
}
