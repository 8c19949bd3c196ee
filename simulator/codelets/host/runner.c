/* Runs rows of vertices for the simulator: one request after another over pipes, on memory that both map.

   argv: request descriptor, reply descriptor, print descriptor, then descriptor:bytes of each shared segment; the first
   one is the position, which says what runs when the process dies. First reply: the number of segments, their addresses,
   the number of entries, the length of their names, the names (each ends with a zero); then the number of counters. */
#define _GNU_SOURCE
#include <fenv.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <signal.h>
#include <unistd.h>

struct position {
  unsigned long vertex;
  unsigned worker;
  unsigned result;
};
typedef void (*entry)(char *, unsigned long, unsigned long, unsigned, unsigned, volatile struct position *);
struct named_entry {
  const char *name;
  entry run;
};
struct request {
  uint64_t entry, state, first, last, counters, tiles, begins, slots;
  uint32_t first_worker, last_worker, float_flags, has_workers;
};
/* Bits of float_flags, as simulator.codelets.float_state has them. */
enum { STOP_INVALID = 1, STOP_DIVISION = 2, STOP_OVERFLOW = 4, NAN_ON_OVERFLOW = 16 };
/* Codes of ends beside those of signals: _STACK_OVERFLOW and _NO_WORKER of runner.py. */
enum { STACK_OVERFLOW = 1000, NO_WORKER = 1001 };
struct reply {
  uint64_t printed;
  uint64_t result;
};

extern struct named_entry __start_popvision_entries[] __attribute__((weak));
extern struct named_entry __stop_popvision_entries[] __attribute__((weak));
extern uint64_t __start_popvision_counts[] __attribute__((weak));
extern uint64_t __stop_popvision_counts[] __attribute__((weak));

extern int popvision_nan_on_overflow; /* half.c */

static volatile struct position *position;
static const uint32_t *tiles; /* of the vertices of the row */
static const uint64_t *begins; /* of these vertices: tile cycles from the begin of the compute set */
static uint32_t has_workers;  /* whether these are of a MultiVertex */
static int print_descriptor;
static uint64_t printed;

static int whole(int descriptor, void *data, size_t size, int writing) {
  char *at = data;
  while (size > 0) {
    ssize_t done = writing ? write(descriptor, at, size) : read(descriptor, at, size);
    if (done <= 0) return 0;
    at += done;
    size -= (size_t)done;
  }
  return 1;
}

static void put(int descriptor, const void *data, size_t size) {
  if (!whole(descriptor, (void *)data, size, 1)) _exit(0);
}

/* The tile of the vertex that runs: __builtin_ipu_get_tile_id of ipu_builtins.h. */
unsigned popvision_tile(void) { return tiles ? tiles[position->vertex] : 0; }

/* Codelets that count add the issue slots of each basic block, in parts, to a register (slot_counting.py). */
enum { PARTS = 2, WORKERS = 6 }; /* of simulator.machine */
#ifdef __x86_64__
register uint64_t counted_parts asm("r15");
#else
static uint64_t counted_parts;
#endif

/* The tile's counter: the cycle at which the vertex begins, and those of its blocks since then: a worker issues every
   sixth cycle. */
static uint64_t parts_before;
void popvision_vertex_begins(void) { parts_before = counted_parts; }
static uint64_t cycle_counter(void) {
  return (begins ? begins[position->vertex] : 0) + (counted_parts - parts_before) * WORKERS / PARTS;
}
unsigned popvision_ipu_get_scount_l(void) { return (unsigned)cycle_counter(); }
unsigned popvision_ipu_get_scount_u(void) { return (unsigned)(cycle_counter() >> 32); }

/* The worker of a MultiVertex that runs; that of another vertex is not modelled here, and asking for it ends the run. */
unsigned popvision_worker(void) {
  if (!has_workers) {
    position->result = NO_WORKER;
    abort();
  }
  return position->worker;
}

/* A supervisor runs a codelet on its workers, all on its own vertex. They run side by side on a tile, so that what is
   counted is the work of the longest. */
void popvision_run_all(void (*code)(void *, unsigned), void *vertex) {
  size_t blocks = (size_t)(__stop_popvision_counts - __start_popvision_counts), bytes = blocks * sizeof(uint64_t);
  uint64_t *before = malloc(bytes + 1), *longest = malloc(bytes + 1), others = has_workers, own = position->worker;
  uint64_t start = counted_parts, most = start;
  if (before == NULL || longest == NULL) abort();
  if (blocks) memcpy(before, __start_popvision_counts, bytes);
  has_workers = 1;
  for (unsigned worker = 0; worker < WORKERS; ++worker) {
    if (blocks) memcpy(__start_popvision_counts, before, bytes);
    position->worker = worker;
    counted_parts = start;
    code(vertex, worker);
    if (worker == 0 || counted_parts > most) {
      most = counted_parts;
      if (blocks) memcpy(longest, __start_popvision_counts, bytes);
    }
  }
  if (blocks) memcpy(__start_popvision_counts, longest, bytes);
  counted_parts = most;
  has_workers = (uint32_t)others;
  position->worker = (unsigned)own;
  free(before);
  free(longest);
}

static uint64_t parts_of(entry run, char *state, uint64_t vertex, uint32_t first_worker, uint32_t last_worker) {
  counted_parts = 0;
  run(state, vertex, vertex + 1, first_worker, last_worker, position);
  return counted_parts;
}

/* Run vertices one by one and store the parts of each; of a MultiVertex those of its longest worker. */
static void run_counting(const struct request *request, entry run) {
  char *state = (char *)(uintptr_t)request->state;
  uint64_t *parts = (uint64_t *)(uintptr_t)request->slots;
  uint32_t first = request->first_worker, last = request->last_worker;
  for (uint64_t vertex = request->first; vertex < request->last; ++vertex) {
    uint64_t most = 0;
    if (!has_workers) most = parts_of(run, state, vertex, first, last);
    for (uint32_t worker = first; has_workers && worker < last; ++worker) {
      uint64_t its = parts_of(run, state, vertex, worker, worker + 1);
      if (its > most) most = its;
    }
    parts[vertex] = most;
  }
}

/* Output of codelets: (vertex, worker, length), text. */
static void print_text(const char *text, size_t length) {
  struct {
    uint64_t vertex;
    uint32_t worker, length;
  } head = {position->vertex, position->worker, (uint32_t)length};
  put(print_descriptor, &head, sizeof head);
  put(print_descriptor, text, length);
  printed += sizeof head + length;
}

int vprintf(const char *format, va_list arguments) {
  char small[512], *text = small;
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(small, sizeof small, format, arguments);
  if (length >= (int)sizeof small) {
    text = malloc((size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
  }
  va_end(again);
  if (length > 0) print_text(text, (size_t)length);
  if (text != small) free(text);
  return length;
}

int printf(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vprintf(format, arguments);
  va_end(arguments);
  return length;
}

int __printf_chk(int flag, const char *format, ...) {
  (void)flag;
  va_list arguments;
  va_start(arguments, format);
  int length = vprintf(format, arguments);
  va_end(arguments);
  return length;
}

int puts(const char *text) { return printf("%s\n", text); }

int putchar(int letter) {
  char text = (char)letter;
  print_text(&text, 1);
  return letter;
}

/* A vertex may loop for ever: check every few seconds that the simulator is still there. */
static pid_t parent;

static void check_parent(int number) {
  (void)number;
  if (getppid() != parent) _exit(0);
}

static void watch_parent(void) {
  struct sigaction action;
  struct itimerval every = {{5, 0}, {5, 0}};
  memset(&action, 0, sizeof action);
  action.sa_handler = check_parent;
  action.sa_flags = SA_RESTART;
  parent = getppid();
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &every, NULL);
}

/* Store the kind of floating-point exception where the simulator reads it when the process is gone. */
static void float_stopped(int number, siginfo_t *information, void *context) {
  (void)context;
  position->result = (unsigned)information->si_code;
  signal(number, SIG_DFL);
  raise(number);
}

/* The stack grows down to its limit: a fault between the limit and its top means that it is full. */
static char *stack_top;
static char signal_stack[1 << 16];

static void memory_stopped(int number, siginfo_t *information, void *context) {
  char *at = information->si_addr;
  struct rlimit limit;
  (void)context;
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && at < stack_top &&
      (uintptr_t)(stack_top - at) <= limit.rlim_cur + (1 << 20))
    position->result = STACK_OVERFLOW;
  signal(number, SIG_DFL);
  raise(number);
}

static void watch_stack(void) {
  stack_t own = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = memory_stopped;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  stack_top = (char *)__builtin_frame_address(0);
  sigaltstack(&own, NULL);
  sigaction(SIGSEGV, &action, NULL);
}

static void apply_float_flags(uint32_t flags) {
  int wanted = (flags & STOP_INVALID ? FE_INVALID : 0) | (flags & STOP_DIVISION ? FE_DIVBYZERO : 0) |
               (flags & STOP_OVERFLOW ? FE_OVERFLOW : 0);
  popvision_nan_on_overflow = (flags & NAN_ON_OVERFLOW) != 0;
  if (wanted == fegetexcept()) return;
  feclearexcept(FE_ALL_EXCEPT);
  fedisableexcept(FE_ALL_EXCEPT);
  feenableexcept(wanted);
}

static void watch_floats(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = float_stopped;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGFPE, &action, NULL);
}

/* Memory at addresses of 32 bits where there is room, as codelets for the IPU keep addresses in unsigned ints. */
static void *mapped(int descriptor, size_t bytes) {
#ifdef MAP_32BIT
  void *low = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_32BIT, descriptor, 0);
  if (low != MAP_FAILED) return low;
#endif
  return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
}

static void greet(int replies, int segments, char **described) {
  uint64_t number = (uint64_t)segments;
  put(replies, &number, sizeof number);
  for (int i = 0; i < segments; ++i) {
    int descriptor = 0;
    unsigned long long bytes = 0;
    if (sscanf(described[i], "%d:%llu", &descriptor, &bytes) != 2) _exit(3);
    void *memory = mapped(descriptor, bytes ? bytes : 1);
    if (memory == MAP_FAILED) _exit(4);
    close(descriptor);
    if (i == 0) position = memory;
    number = (uint64_t)(uintptr_t)memory;
    put(replies, &number, sizeof number);
  }
  uint64_t entries = 0, length = 0;
  for (struct named_entry *e = __start_popvision_entries; e < __stop_popvision_entries; ++e) {
    ++entries;
    length += strlen(e->name) + 1;
  }
  put(replies, &entries, sizeof entries);
  put(replies, &length, sizeof length);
  for (struct named_entry *e = __start_popvision_entries; e < __stop_popvision_entries; ++e)
    put(replies, e->name, strlen(e->name) + 1);
  number = (uint64_t)(__stop_popvision_counts - __start_popvision_counts);
  put(replies, &number, sizeof number);
}

int main(int count, char **argument) {
  if (count < 5) return 2;
  int requests = atoi(argument[1]), replies = atoi(argument[2]);
  print_descriptor = atoi(argument[3]);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_IGN);
  watch_parent();
  watch_floats();
  watch_stack();
  greet(replies, count - 4, argument + 4);
  struct request request;
  size_t counters = (size_t)(__stop_popvision_counts - __start_popvision_counts);
  while (whole(requests, &request, sizeof request, 0)) {
    position->result = 1;
    tiles = (const uint32_t *)(uintptr_t)request.tiles;
    begins = (const uint64_t *)(uintptr_t)request.begins;
    counted_parts = parts_before = 0;
    has_workers = request.has_workers;
    apply_float_flags(request.float_flags);
    if (request.counters) memset(__start_popvision_counts, 0, counters * sizeof(uint64_t));
    entry run = __start_popvision_entries[request.entry].run;
    if (request.slots)
      run_counting(&request, run);
    else
      run((char *)(uintptr_t)request.state, request.first, request.last, request.first_worker, request.last_worker,
          position);
    if (request.counters)
      memcpy((void *)(uintptr_t)request.counters, __start_popvision_counts, counters * sizeof(uint64_t));
    struct reply reply = {printed, position->result};
    put(replies, &reply, sizeof reply);
  }
  return 0;
}
