// Fields of vertices as the simulator lays them out in the memory of the host: every vector is a pointer and a number of
// elements, whatever its layout on a tile; the layout decides the size of vertex state in the modelled memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct quarter;

namespace poplar {

enum class VectorLayout { SPAN, ONE_PTR, SHORT_SPAN, SCALED_PTR32, SCALED_PTR64, SCALED_PTR128, COMPACT_PTR };

enum class VectorListLayout { ONE_PTR, SCALED_PTR32, SCALED_PTR64, SCALED_PTR128, DELTAN, DELTANELEMENTS, COMPACT_DELTAN };

namespace host {

constexpr bool knows_size(VectorLayout layout) {
  return layout == VectorLayout::SPAN || layout == VectorLayout::SHORT_SPAN;
}

// Tiles have 32-bit long and size_t; the elements that edges lead to are stored so.
template <class T>
struct OnTile {
  using type = T;
};
template <>
struct OnTile<long> {
  using type = int;
};
template <>
struct OnTile<unsigned long> {
  using type = unsigned;
};
template <class T>
struct OnTile<const T> {
  using type = const typename OnTile<T>::type;
};
template <class T>
using on_tile = typename OnTile<T>::type;

template <class T>
struct OnlyMutable {
  using type = T;
};
template <class T>
struct OnlyMutable<const T> {};

// reinterpret_cast of codelets: popc lets it take const from what a field that is only read points to.
template <class To>
struct Reinterpreted {
  template <class From>
  static To of(From &&value) {
    return reinterpret_cast<To>(static_cast<From &&>(value));
  }
};
template <class To>
struct Reinterpreted<To *> {
  template <class From>
  static To *of(const From *pointer) {
    return reinterpret_cast<To *>(const_cast<From *>(pointer));
  }
  static To *of(unsigned long address) { return reinterpret_cast<To *>(address); }
};
template <class To>
struct Reinterpreted<To &> {
  template <class From>
  static To &of(const From &place) {
    return reinterpret_cast<To &>(const_cast<From &>(place));
  }
};
template <class To, class From>
To reinterpreted(From &&value) {
  return Reinterpreted<To>::of(static_cast<From &&>(value));
}

// A run of elements. T is const if the vertex only reads them.
template <class T>
struct Run {
  T *pointer;
  unsigned count;
};

// Edges to quarter know where the metadata of their tensor lies; vectors of such edges, that of their first. `Where`:
// what stands before it.
template <class T, template <class> class Where>
struct WithMetadata : protected Where<T> {
  template <class Edge = T>
  auto getMetadata() const -> decltype(static_cast<const Edge *>(nullptr)->getMetadata()) {
    return this->pointer[0].getMetadata();
  }
};
template <class T, template <class> class Where>
struct OfQuarter : protected Where<T> {
  const unsigned char *getMetadata() const { return metadata; }

 protected:
  const unsigned char *metadata;
};
template <template <class> class Where>
struct WithMetadata<quarter, Where> : OfQuarter<quarter, Where> {};
template <template <class> class Where>
struct WithMetadata<const quarter, Where> : OfQuarter<const quarter, Where> {};

template <class T, bool Sized>
class Elements : public WithMetadata<T, Run> {
 public:
  using value_type = T;
  using reference = T &;
  using const_reference = const T &;
  using iterator = T *;
  using const_iterator = const T *;

  T &operator[](unsigned i) const { return this->pointer[i]; }
  T *begin() const { return this->pointer; }
  T *data() const { return this->pointer; }
  T &operator*() const { return *this->pointer; }
  const Elements *operator->() const { return this; }
};

template <class T>
class Elements<T, true> : public Elements<T, false> {
 public:
  const Elements *operator->() const { return this; }
  T *end() const { return this->pointer + this->count; }
  unsigned size() const { return this->count; }
  bool empty() const { return this->count == 0; }
  T &front() const { return this->pointer[0]; }
  T &back() const { return this->pointer[this->count - 1]; }
};

}  // namespace host

// Vertex state that is a vector, or a vector of edges.
template <class T, VectorLayout L = VectorLayout::SPAN, unsigned MinAlign = alignof(T), bool Interleaved = false>
class Vector : public host::Elements<host::on_tile<T>, host::knows_size(L)> {};

// Vectors of one element type with a compact layout on the tile. Only inside Input, Output and InOut.
template <class T, VectorListLayout L = VectorListLayout::DELTANELEMENTS, unsigned MinAlign = alignof(T),
          bool Interleaved = false>
class VectorList;

namespace host {

template <class T>
class Row : public Elements<T, true> {};

template <class T>
class Rows : protected Run<Row<T>> {
 public:
  Row<T> &operator[](unsigned i) const { return this->pointer[i]; }
  unsigned size() const { return this->count; }
  Row<T> *begin() const { return this->pointer; }
  Row<T> *end() const { return this->pointer + this->count; }
  auto getMetadata() const { return this->pointer[0].getMetadata(); }
};

template <class T>
struct Place {
  T *pointer;
};

// One element at the other end of an edge.
template <class T>
class Element : public WithMetadata<T, Place> {
 public:
  T &operator*() const { return *this->pointer; }
  T *operator->() const { return this->pointer; }
};

}  // namespace host

template <class T>
class Input : public host::Element<const host::on_tile<T>> {
 public:
  operator const host::on_tile<T> &() const { return *this->pointer; }
};

template <class T>
class Output : public host::Element<host::on_tile<T>> {
 public:
  operator host::on_tile<T> &() const { return *this->pointer; }
  const Output &operator=(const host::on_tile<T> &value) const {
    *this->pointer = value;
    return *this;
  }
};

template <class T>
class InOut : public host::Element<host::on_tile<T>> {
 public:
  operator host::on_tile<T> &() const { return *this->pointer; }
  const InOut &operator=(const host::on_tile<T> &value) const {
    *this->pointer = value;
    return *this;
  }
};

// Edges to vectors are vectors; those that are only read, of const elements, which functions for vectors of T take all
// the same.
template <class T, VectorLayout L, unsigned A, bool I>
class Input<Vector<T, L, A, I>> : public Vector<const T, L, A, I> {
 public:
  template <class U = T, class = typename host::OnlyMutable<U>::type>
  operator const Vector<U, L, A, I> &() const {
    return reinterpret_cast<const Vector<U, L, A, I> &>(*this);
  }
};
template <class T, VectorLayout L, unsigned A, bool I>
class Output<Vector<T, L, A, I>> : public Vector<T, L, A, I> {};
template <class T, VectorLayout L, unsigned A, bool I>
class InOut<Vector<T, L, A, I>> : public Vector<T, L, A, I> {};

template <class T, VectorListLayout L, unsigned A, bool I>
class Input<VectorList<T, L, A, I>> : public host::Rows<const host::on_tile<T>> {};
template <class T, VectorListLayout L, unsigned A, bool I>
class Output<VectorList<T, L, A, I>> : public host::Rows<host::on_tile<T>> {};
template <class T, VectorListLayout L, unsigned A, bool I>
class InOut<VectorList<T, L, A, I>> : public host::Rows<host::on_tile<T>> {};

// State that only simulations read.
template <class T>
class SimOnlyField {
 public:
  operator T &() { return value; }
  operator const T &() const { return value; }

 private:
  T value;
};

}  // namespace poplar
