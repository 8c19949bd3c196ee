// Fields passed as vectors.
#include <poplar/Vertex.hpp>

using namespace poplar;

static float total(const Vector<float> &terms) {
  float sum = 0;
  for (float term : terms) sum += term;
  return sum;
}
template <class T>
static void fill(Vector<T> &vector, T value) {
  for (T &element : vector) element = value;
}
template <class T, VectorLayout L>
static unsigned length(const Vector<T, L> &vector) {
  return vector.size();
}

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    fill(out, total(in));
    out[0] = length(in);
    return true;
  }
};
