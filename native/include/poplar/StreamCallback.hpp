// Code of the host that streams and host functions call. It runs without any lock of the library held.
#ifndef poplar_StreamCallback_hpp
#define poplar_StreamCallback_hpp

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>

#include <poplar/ArrayRef.hpp>

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

/// A stream's callback: a function of the memory, or an object.
class StreamCallbackHandle {
  class Called final : public LegacyStreamCallback {
  public:
    explicit Called(std::function<void(void *)> function) : function(std::move(function)) {}
    void fetch(void *p) override { function(p); }

  private:
    std::function<void(void *)> function;
  };

public:
  template <class F, class = decltype(std::declval<F &>()(std::declval<void *>()))>
  StreamCallbackHandle(F function) : callback(new Called(std::move(function))) {}
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
