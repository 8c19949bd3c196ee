// Code of the host that streams and host functions call. It runs without any lock of the library held.
#ifndef poplar_StreamCallback_hpp
#define poplar_StreamCallback_hpp

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>

#include <poplar/ArrayRef.hpp>
#include <poplar/Quarter.hpp>

namespace poplar {

/// Provides or consumes the data of a stream.
class StreamCallback {
public:
  enum class Result { Success, NotAvailable };
  virtual ~StreamCallback() = default;
  /// Fill the memory ahead of time.
  virtual Result prefetch(void *p) = 0;
  /// Fill the memory, or read it.
  virtual void fetch(void *p) = 0;
  /// The transfer of what was fetched or prefetched last is over.
  virtual void complete() = 0;
  /// What was prefetched since the last complete() was dropped.
  virtual void invalidatePrefetched() {}
};

/// A callback that only fetches.
class LegacyStreamCallback : public StreamCallback {
public:
  Result prefetch(void *) final { return Result::NotAvailable; }
  void complete() final {}
  void invalidatePrefetched() final {}
};

/// A callback of a stream of QUARTER: it sets the metadata of what it provides, and reads that of what it consumes.
class StreamCallbackWithMetadata : public StreamCallback {
public:
  virtual Result prefetch(QuarterMetadata &metadata, void *p) = 0;
  virtual void fetch(QuarterMetadata &metadata, void *p) = 0;

private:
  Result prefetch(void *) final { return Result::NotAvailable; }
  void fetch(void *) final {}
};

/// A callback that may suspend itself until another callback or thread resumes it. While prefetch is suspended the
/// program goes on until it needs the data; while fetch is, the transfer waits.
class ResumableStreamCallback : public StreamCallback {
public:
  /// Resume the callback from its last wait().
  void notify(); // src/host_objects.cpp
  bool isAwaiting() const; // src/host_objects.cpp

  void *suspension = nullptr; // of the simulator, once the callback is connected

protected:
  /// Suspend the running callback; only the callback itself calls this.
  void wait(); // src/host_objects.cpp
};

/// A stream's callback: a function of the memory, of metadata and memory, or an object.
class StreamCallbackHandle {
  class Called final : public LegacyStreamCallback {
  public:
    explicit Called(std::function<void(void *)> function) : function(std::move(function)) {}
    void fetch(void *p) override { function(p); }

  private:
    std::function<void(void *)> function;
  };

  class CalledWithMetadata final : public StreamCallbackWithMetadata {
  public:
    explicit CalledWithMetadata(std::function<void(QuarterMetadata &, void *)> function)
        : function(std::move(function)) {}
    Result prefetch(QuarterMetadata &, void *) override { return Result::NotAvailable; }
    void fetch(QuarterMetadata &metadata, void *p) override { function(metadata, p); }
    void complete() override {}

  private:
    std::function<void(QuarterMetadata &, void *)> function;
  };

public:
  template <class F, class = decltype(std::declval<F &>()(std::declval<void *>()))>
  StreamCallbackHandle(F function) : callback(new Called(std::move(function))) {}
  template <class F, class = decltype(std::declval<F &>()(std::declval<QuarterMetadata &>(), std::declval<void *>())),
            class = void>
  StreamCallbackHandle(F function) : callback(new CalledWithMetadata(std::move(function))) {}
  template <class C, class = typename std::enable_if<std::is_base_of<StreamCallback, C>::value>::type>
  StreamCallbackHandle(std::unique_ptr<C> callback) : callback(std::move(callback)) {}
  StreamCallbackHandle(StreamCallbackHandle &&) = default;
  StreamCallbackHandle &operator=(StreamCallbackHandle &&) = default;

  std::shared_ptr<StreamCallback> callback;
};

/// The code of a host function.
class HostCallback {
public:
  virtual ~HostCallback() = default;
  virtual void operator()(ArrayRef<const void *> inputs, ArrayRef<void *> outputs) = 0;
};

class HostCallbackHandle {
  class Called final : public HostCallback {
    using Function = std::function<void(ArrayRef<const void *>, ArrayRef<void *>)>;

  public:
    explicit Called(Function function) : function(std::move(function)) {}
    void operator()(ArrayRef<const void *> inputs, ArrayRef<void *> outputs) override { function(inputs, outputs); }

  private:
    Function function;
  };

public:
  template <class F, class = decltype(std::declval<F &>()(std::declval<ArrayRef<const void *>>(),
                                                          std::declval<ArrayRef<void *>>()))>
  HostCallbackHandle(F function) : callback(new Called(std::move(function))) {}
  template <class C, class = typename std::enable_if<std::is_base_of<HostCallback, C>::value>::type>
  HostCallbackHandle(std::unique_ptr<C> callback) : callback(std::move(callback)) {}
  HostCallbackHandle(HostCallbackHandle &&) = default;
  HostCallbackHandle &operator=(HostCallbackHandle &&) = default;

  std::shared_ptr<HostCallback> callback;
};

} // namespace poplar

#endif
