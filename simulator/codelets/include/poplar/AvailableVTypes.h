// The layouts of the target: pointers of 16 bits reach all memory of the first generation only.
#pragma once

#define VECTOR_AVAIL_SHORT_SPAN 1
#if defined(__IPU_ARCH_VERSION__) && __IPU_ARCH_VERSION__ == 1
#define VECTOR_AVAIL_SCALED_PTR32 1
#define VECTOR_AVAIL_SCALED_PTR64 1
#define VECTOR_AVAIL_SCALED_PTR128 1
#define VECTORLIST_AVAIL_DELTAN 1
#endif
