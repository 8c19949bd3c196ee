/* printf of codelets: goes to the stream of Engine.setPrintStream, labelled by tile and worker. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
#ifdef __cplusplus
}
#endif
