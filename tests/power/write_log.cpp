// A library for LD_PRELOAD: logs what a program changes below the folder $POWER_FOLDER, and what it says on standard
// output, in the order in which it happens, to the file $POWER_LOG. recorded_writes.py has the form of the log.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <string>

namespace {

enum Kind : int64_t { kCreate = 1, kWrite, kTruncate, kSync, kRename, kUnlink, kSay };

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// Operations of one process happen one after the other, so that the log has their order.
struct Locked {
  Locked() { pthread_mutex_lock(&mutex); }
  ~Locked() { pthread_mutex_unlock(&mutex); }
};

const char *folder() {
  static const char *name = getenv("POWER_FOLDER");
  return name ? name : "/nowhere";
}

bool isBelow(const std::string &path) {
  size_t length = strlen(folder());
  return path.compare(0, length, folder()) == 0 && (path.size() == length || path[length] == '/');
}

std::string absolute(const char *path) {
  if (path[0] == '/') return path;
  char here[4096];
  return getcwd(here, sizeof here) ? std::string(here) + "/" + path : path;
}

std::string pathOf(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path);
  return length < 0 ? "" : std::string(path, length);
}

void note(Kind kind, const std::string &path, int64_t place, const std::string &other, const void *data, int64_t count) {
  static int log = open(getenv("POWER_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  int64_t head[5] = {kind, place, int64_t(path.size()), int64_t(other.size()), count};
  std::string record(reinterpret_cast<char *>(head), sizeof head);
  record += path + other;
  if (count) record.append(static_cast<const char *>(data), count);
  if (syscall(SYS_write, log, record.data(), record.size()) != ssize_t(record.size())) abort();
}

template <class Function> Function real(const char *name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int opened(const char *name, int at, const char *path, int flags, mode_t mode) {
  static auto open_ = real<int (*)(int, const char *, int, ...)>("openat");
  if (!(flags & (O_CREAT | O_TRUNC)) || at != AT_FDCWD || !isBelow(absolute(path))) return open_(at, path, flags, mode);
  Locked locked;
  bool wasThere = access(path, F_OK) == 0;
  int fd = open_(at, path, flags, mode);
  if (fd >= 0 && !wasThere) note(kCreate, absolute(path), 0, "", nullptr, 0);
  if (fd >= 0 && wasThere && (flags & O_TRUNC)) note(kTruncate, absolute(path), 0, "", nullptr, 0);
  return fd;
}

ssize_t written(int fd, const void *data, size_t count, off_t place, bool atPlace) {
  Locked locked;
  std::string path = pathOf(fd);
  bool logs = isBelow(path);
  if (logs && !atPlace) place = fcntl(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
  ssize_t done = atPlace ? syscall(SYS_pwrite64, fd, data, count, place) : syscall(SYS_write, fd, data, count);
  if (done > 0 && logs) note(kWrite, path, place, "", data, done);
  if (done > 0 && fd == 1) note(kSay, "", 0, "", data, done);
  return done;
}

int cut(int fd, off_t length) {
  Locked locked;
  int done = int(syscall(SYS_ftruncate, fd, length));
  if (done == 0 && isBelow(pathOf(fd))) note(kTruncate, pathOf(fd), length, "", nullptr, 0);
  return done;
}

int synced(int fd) {
  Locked locked;
  int done = int(syscall(SYS_fsync, fd));
  if (done == 0 && isBelow(pathOf(fd))) note(kSync, pathOf(fd), 0, "", nullptr, 0);
  return done;
}

}  // namespace

extern "C" {

#define OPEN(NAME)                                                       \
  int NAME(const char *path, int flags, ...) {                           \
    va_list more;                                                        \
    va_start(more, flags);                                               \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0; \
    va_end(more);                                                        \
    return opened(#NAME, AT_FDCWD, path, flags, mode);                   \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(NAME)                                                     \
  int NAME(int at, const char *path, int flags, ...) {                   \
    va_list more;                                                        \
    va_start(more, flags);                                               \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0; \
    va_end(more);                                                        \
    return opened(#NAME, at, path, flags, mode);                         \
  }
OPENAT(openat64)

ssize_t write(int fd, const void *data, size_t count) { return written(fd, data, count, 0, false); }
ssize_t pwrite(int fd, const void *data, size_t count, off_t place) { return written(fd, data, count, place, true); }
ssize_t pwrite64(int fd, const void *data, size_t count, off_t place) { return written(fd, data, count, place, true); }
int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off_t length) { return cut(fd, length); }
int fsync(int fd) { return synced(fd); }
int fdatasync(int fd) { return synced(fd); }

int rename(const char *from, const char *to) {
  Locked locked;
  int done = int(syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
  if (done == 0 && isBelow(absolute(to))) note(kRename, absolute(from), 0, absolute(to), nullptr, 0);
  return done;
}

int unlink(const char *path) {
  Locked locked;
  int done = int(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
  if (done == 0 && isBelow(absolute(path))) note(kUnlink, absolute(path), 0, "", nullptr, 0);
  return done;
}
}
