// The four kernels of STREAM on the elements of one tile, shared by its six threads.
#include <poplar/Vertex.hpp>

using namespace poplar;

template <typename T> class CopyVertex : public MultiVertex {
public:
  Input<Vector<T>> a;
  Output<Vector<T>> c;
  bool compute(unsigned worker) {
    for (unsigned i = worker; i < a.size(); i += numWorkers())
      c[i] = a[i];
    return true;
  }
};

template <typename T> class ScaleVertex : public MultiVertex {
public:
  Input<Vector<T>> c;
  Output<Vector<T>> b;
  const T scalar;
  bool compute(unsigned worker) {
    for (unsigned i = worker; i < c.size(); i += numWorkers())
      b[i] = scalar * c[i];
    return true;
  }
};

template <typename T> class AddVertex : public MultiVertex {
public:
  Input<Vector<T>> a;
  Input<Vector<T>> b;
  Output<Vector<T>> c;
  bool compute(unsigned worker) {
    for (unsigned i = worker; i < a.size(); i += numWorkers())
      c[i] = a[i] + b[i];
    return true;
  }
};

template <typename T> class TriadVertex : public MultiVertex {
public:
  Input<Vector<T>> b;
  Input<Vector<T>> c;
  Output<Vector<T>> a;
  const T scalar;
  bool compute(unsigned worker) {
    for (unsigned i = worker; i < b.size(); i += numWorkers())
      a[i] = b[i] + scalar * c[i];
    return true;
  }
};

template class CopyVertex<float>;
template class ScaleVertex<float>;
template class AddVertex<float>;
template class TriadVertex<float>;
