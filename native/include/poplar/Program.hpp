// Control programs. Programs are values: a copied Sequence is a copy, and adding to one leaves the other as it was; a
// program contains others as they were when they were added.
#ifndef poplar_Program_hpp
#define poplar_Program_hpp

#include <cstdint>
#include <initializer_list>
#include <map>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/DebugContext.hpp>
#include <poplar/GraphElements.hpp>
#include <poplar/Tensor.hpp>

namespace poplar {

class Graph;

namespace program {

/// The base of all programs; a default-constructed one does nothing.
class Program : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  Program() = default;
  Program(const Program &other); // src/programs.cpp
  Program(Program &&other) noexcept = default;
  Program &operator=(const Program &other); // src/programs.cpp
  Program &operator=(Program &&other) noexcept = default;
  bool isEmpty() const;
};

/// Programs one after another.
class Sequence : public Program {
  template <class... T> struct ArePrograms : std::true_type {};
  template <class T, class... Rest>
  struct ArePrograms<T, Rest...>
      : std::integral_constant<bool, std::is_base_of<Program, typename std::decay<T>::type>::value &&
                                         ArePrograms<Rest...>::value> {};

  /// The first of several programs, and the user's line: no default argument can stand behind the others.
  struct First {
    template <class T, class = typename std::enable_if<ArePrograms<T>::value>::type>
    First(T &&program, SourceLocation line = SourceLocation::Current())
        : program(std::forward<T>(program)), line(line) {}
    Program program;
    SourceLocation line;
  };

public:
  explicit Sequence(std::shared_ptr<void> shared) : Program(std::move(shared)) {}
  Sequence(const DebugContext &debugContext = {});
  Sequence(std::initializer_list<Program> programs, const DebugContext &debugContext = {}); // src/programs.cpp
  /// Sequence s = Repeat(2, body): a sequence of one program.
  template <class T, class = typename std::enable_if<ArePrograms<T>::value>::type,
            class = typename std::enable_if<!std::is_base_of<Sequence, typename std::decay<T>::type>::value>::type>
  Sequence(T &&program, SourceLocation line = SourceLocation::Current())
      : Sequence({Program(std::forward<T>(program))}, DebugContext(line)) {}
  /// Sequence(Execute(a), Copy(b, c)).
  template <class... T, class = typename std::enable_if<ArePrograms<T...>::value>::type>
  explicit Sequence(First first, T &&...others)
      : Sequence({std::move(first.program), std::forward<T>(others)...}, DebugContext(first.line)) {}
  Sequence(const Sequence &other) = default;
  Sequence(Sequence &&other) noexcept = default;
  Sequence &operator=(const Sequence &other) = default;
  Sequence &operator=(Sequence &&other) noexcept = default;

  /// Append a program, as it is now.
  void add(const Program &program);
};

/// Run all vertices of a compute set; `t` is 1 afterwards if all of them returned true.
class Execute : public Program {
public:
  Execute(ComputeSet cs, const DebugContext &debugContext = {});
  Execute(ComputeSet cs, Tensor t, const DebugContext &debugContext = {});
};

/// Run `trueBody` where the predicate is not 0, else `falseBody`.
class If : public Program {
public:
  If(Tensor predicate, const Program &trueBody, const Program &falseBody, const DebugContext &debugContext = {});
};

/// Run the case of the value of `control`, else the default case.
class Switch : public Program {
public:
  explicit Switch(std::shared_ptr<void> shared) : Program(std::move(shared)) {}
  Switch(Tensor control, const DebugContext &debugContext = {});
  Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases,
         const DebugContext &debugContext = {});
  Switch(Tensor control, const std::vector<std::pair<std::int32_t, Program>> &cases, const Program &defaultCaseBody,
         const DebugContext &debugContext = {});
  Switch &add(std::int32_t val, const Program &body); // src/programs.cpp
  static Switch switchWithBoundsChecking(Tensor control,
                                         const std::vector<std::pair<std::int32_t, Program>> &cases,
                                         const DebugContext &debugContext = {});
  static Switch switchWithUnreachableDefault(Tensor control, const DebugContext &debugContext = {});
};

/// Run a program `count` times.
class Repeat : public Program {
public:
  Repeat(unsigned count, const Program &prog, const DebugContext &debugContext = {});
};

/// Run a program again and again, until an Abort in it or Engine::stop ends the run.
class Loop : public Program {
public:
  Loop(const Program &body, const DebugContext &debugContext = {});
};

/// Run `cond`; while the predicate is 0 afterwards, run `body` and `cond` again.
class RepeatWhileFalse : public Program {
public:
  RepeatWhileFalse(const Program &cond, Tensor predicate, const Program &body, const DebugContext &debugContext = {});
};

/// Run `cond`; while the predicate is not 0 afterwards, run `body` and `cond` again.
class RepeatWhileTrue : public Program {
public:
  RepeatWhileTrue(const Program &cond, Tensor predicate, const Program &body, const DebugContext &debugContext = {});
};

/// Copy between tensors, streams, remote buffers and function buffers.
class Copy : public Program {
public:
  Copy(Tensor src, Tensor dst, bool dontOutline = false, const DebugContext &debugContext = {});
  Copy(const DataStream &stream, Tensor dst, bool optimiseMemory = false, const DebugContext &debugContext = {});
  Copy(Tensor src, const DataStream &stream, bool optimiseMemory = false, const DebugContext &debugContext = {});
  Copy(const RemoteBuffer &buffer, Tensor dst, const DebugContext &debugContext = {});
  Copy(const RemoteBuffer &buffer, Tensor dst, Tensor offset, const DebugContext &debugContext = {});
  Copy(Tensor src, const RemoteBuffer &buffer, const DebugContext &debugContext = {});
  Copy(Tensor src, const RemoteBuffer &buffer, Tensor offset, const DebugContext &debugContext = {});
  Copy(const FunctionBuffer &buffer, const Function &function, const DebugContext &debugContext = {});
  Copy(const Function &function, const FunctionBuffer &buffer, const DebugContext &debugContext = {});
};

/// Copy between replicas: `replicaMap` gives for each source replica the one that receives.
class CrossReplicaCopy : public Program {
public:
  CrossReplicaCopy(Tensor src, Tensor dst, std::map<unsigned, unsigned> replicaMap,
                   const DebugContext &debugContext = {});
};

class WriteUndef : public Program {
public:
  WriteUndef(Tensor t, const DebugContext &debugContext = {});
};

class Sync : public Program {
public:
  explicit Sync(SyncType type, const DebugContext &debugContext = {});
};

class Call : public Program {
public:
  Call(Function f, const DebugContext &debugContext = {});
  Call(HostFunction f, ArrayRef<Tensor> inputs, ArrayRef<Tensor> outputs, const DebugContext &debugContext = {});
};

/// How numbers are printed.
enum class FloatFormat { Auto, Fixed, Scientific, None };
class PrintTensorFmt {
public:
  using FloatFormat = program::FloatFormat;
  PrintTensorFmt(unsigned summariseThreshold = 1000, unsigned edgeItems = 3, unsigned maxLineWidth = 75,
                 unsigned digits = 7, FloatFormat floatFormat = FloatFormat::Auto, char separator = ' ',
                 char openBracket = '[', char closeBracket = ']')
      : summariseThreshold(summariseThreshold), edgeItems(edgeItems), maxLineWidth(maxLineWidth), digits(digits),
        floatFormat(floatFormat), separator(separator), openBracket(openBracket), closeBracket(closeBracket) {}
  unsigned summariseThreshold, edgeItems, maxLineWidth, digits;
  FloatFormat floatFormat;
  char separator, openBracket, closeBracket;
};

/// Print a tensor, to standard error unless Engine::setPrintTensorStream says otherwise.
class PrintTensor : public Program {
public:
  PrintTensor(Tensor t, const DebugContext &debugContext = {});
  PrintTensor(Tensor t, const PrintTensorFmt &fmt, const DebugContext &debugContext = {});
  PrintTensor(StringRef title, Tensor t, const DebugContext &debugContext = {});
  PrintTensor(StringRef title, Tensor t, const PrintTensorFmt &fmt, const DebugContext &debugContext = {});
};

class ErrorProgram : public Program {
public:
  ErrorProgram(StringRef message, Tensor debugTensor, const DebugContext &debugContext = {});
};

class Abort : public Program {
public:
  Abort(const DebugContext &debugContext = {});
  Abort(const std::string &message, const DebugContext &debugContext = {});
};

class AbortOnCondition : public Program {
public:
  AbortOnCondition(Tensor predicate, const DebugContext &debugContext = {});
  AbortOnCondition(Tensor predicate, const std::string &message, const DebugContext &debugContext = {});
};

class AssumeEqualAcrossReplicas : public Program {
public:
  AssumeEqualAcrossReplicas(Tensor t, const DebugContext &debugContext = {});
};

/// A program with a name, one node of reports.
class Block : public Program {
public:
  Block(const Program &program, const DebugContext &debugContext = {});
};

/// Write a program as text.
void dumpProgram(const Graph &graph, const Program &program, std::ostream &out);

} // namespace program
} // namespace poplar

#endif
