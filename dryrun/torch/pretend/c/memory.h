/* Virtual memory of the pretend devices, for driver.c. Sizes are whole grains. */
#ifndef PRETEND_MEMORY_H
#define PRETEND_MEMORY_H
#include "pretend.h"

#define GRAIN (2ul << 20)             /* bytes that a device gives out at once */

typedef struct physical physical;
void *pretend_reserve(size_t size);
int pretend_unreserve(void *p, size_t size);
physical *pretend_physical(int device, size_t size); /* NULL: out of memory */
void pretend_release(physical *handle);
int pretend_map(void *p, size_t size, physical *handle); /* NULL: unmap */

/* Values that the host wrote: known.c. */
void pretend_known_write(void *to, const void *from, size_t size);
void pretend_known_set(void *to, int value, size_t size);
void pretend_known_move(void *to, const void *from, size_t size);
int pretend_known_read(void *to, const void *from, size_t size); /* 1: it is known */
#endif
