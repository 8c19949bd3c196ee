// Python in the program: started by the first call that needs it, never finalised.
//
// At the program's exit Python's own exit functions run and its streams are flushed, once; reports and traces are whole
// then. Handles that die later do nothing: the interpreter stays as it is until the process ends.
#include "bridge.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

namespace poplar {
namespace bridge {
namespace {

std::atomic<bool> ended{false};
std::once_flag started;

[[noreturn]] void give_up(const std::string &sentence) {
  std::fprintf(stderr, "libpoplar: %s\n", sentence.c_str());
  std::_Exit(1);
}

/// The program's path and arguments, for names of reports and traces.
std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');)
    words.push_back(word);
  return words;
}

void check(PyStatus status) {
  if (PyStatus_Exception(status))
    give_up(std::string("Python cannot start (") + (status.err_msg ? status.err_msg : "no reason given") +
            "); run 'make cpp' again.");
}

void initialize() {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.parse_argv = 0;
  config.install_signal_handlers = 0; // a key press ends the program, as without Python
  config.buffered_stdio = 0;          // what is printed is there, even after abort()
  check(PyConfig_SetBytesString(&config, &config.executable, POPVISION_PYTHON));
  check(PyConfig_SetBytesString(&config, &config.program_name, POPVISION_PYTHON));
  for (const std::string &word : command_line()) {
    wchar_t *wide = Py_DecodeLocale(word.c_str(), nullptr);
    check(PyWideStringList_Append(&config.argv, wide));
    PyMem_RawFree(wide);
  }
  check(Py_InitializeFromConfig(&config));
  PyConfig_Clear(&config);
}

/// What Python does at its end, but for the end.
void finish() {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyRun_SimpleString("import atexit, sys, threading\n"
                     "threading._shutdown()\n"
                     "atexit._run_exitfuncs()\n"
                     "for stream in (sys.stdout, sys.stderr):\n"
                     "    stream and stream.flush()\n");
  ended = true;
  PyGILState_Release(state);
}

/// Python's state of a thread of the program, dropped at the thread's end.
struct ThreadState {
  ThreadState() {
    if (PyGILState_GetThisThreadState() != nullptr)
      return; // a thread of Python, or the one that started it
    PyGILState_Ensure();
    saved = PyEval_SaveThread();
  }
  ~ThreadState() {
    if (saved == nullptr || ended)
      return;
    PyEval_RestoreThread(saved);
    PyGILState_Release(PyGILState_UNLOCKED);
  }
  PyThreadState *saved = nullptr;
};

void check_version() {
  const std::string version = Py_GetVersion();
  if (version.substr(0, version.find(' ')) != PY_VERSION)
    give_up("it was built for Python " PY_VERSION ", and this is " + version.substr(0, version.find(' ')) +
            "; run 'make cpp' again.");
}

void start_once() {
  if (Py_IsInitialized())
    return check_version(); // Python loaded this library: it is the interpreter
  if (access(POPVISION_PYTHON, X_OK) != 0)
    give_up(std::string("the Python it was built with, " POPVISION_PYTHON ", is gone; run 'make cpp' again."));
  check_version();
  Dl_info library; // NumPy's modules find Python's symbols only where its library is global
  if (dladdr(reinterpret_cast<void *>(&Py_GetVersion), &library) != 0)
    dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  initialize();
  std::atexit(finish);
  PyEval_SaveThread(); // no thread holds the lock between calls
}

} // namespace

void start() { std::call_once(started, start_once); }

void enter_thread() { thread_local const ThreadState state; }

std::shared_ptr<void> shared(py::object object) {
  return std::shared_ptr<void>(object.release().ptr(), [](void *last) {
    if (ended || !Py_IsInitialized())
      return;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(static_cast<PyObject *>(last));
    PyGILState_Release(state);
  });
}

PyObject *Place::find() const {
  py::object found = checked(PyImport_ImportModule(module));
  std::string rest = path;
  while (!rest.empty()) {
    const std::size_t dot = rest.find('.');
    found = checked(PyObject_GetAttrString(found.ptr(), rest.substr(0, dot).c_str()));
    rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
  }
  return found.release().ptr();
}

} // namespace bridge
} // namespace poplar
