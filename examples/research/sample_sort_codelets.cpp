// The four steps of a sample sort. A tile holds some keys and, in the end, one bucket.
#include <poplar/Vertex.hpp>

using namespace poplar;

/// Shell sort of the first `size` keys: no recursion and no memory beside the keys.
template <typename Keys> static void sort(Keys &keys, unsigned size) {
  for (unsigned gap = size / 2; gap > 0; gap /= 2)
    for (unsigned i = gap; i < size; ++i) {
      const unsigned key = keys[i];
      unsigned place = i;
      for (; place >= gap && keys[place - gap] > key; place -= gap)
        keys[place] = keys[place - gap];
      keys[place] = key;
    }
}

class SortKeys : public Vertex {
public:
  InOut<Vector<unsigned>> keys;
  Output<Vector<unsigned>> samples; // at equal distances of the sorted keys

  void compute() {
    sort(keys, keys.size());
    for (unsigned i = 0; i < samples.size(); ++i)
      samples[i] = keys[i * keys.size() / samples.size()];
  }
};

class ChooseSplitters : public Vertex {
public:
  InOut<Vector<unsigned>> samples; // of all tiles
  Output<Vector<unsigned>> splitters;

  void compute() {
    sort(samples, samples.size());
    for (unsigned i = 0; i < splitters.size(); ++i)
      splitters[i] = samples[(i + 1) * samples.size() / (splitters.size() + 1)];
  }
};

class Cut : public Vertex {
public:
  Input<Vector<unsigned>> keys; // sorted
  Input<Vector<unsigned>> splitters;
  Vector<Output<Vector<unsigned>>> parts; // of each bucket: room for all keys
  Output<Vector<unsigned>> sizes;

  void compute() {
    unsigned key = 0;
    for (unsigned bucket = 0; bucket < sizes.size(); ++bucket) {
      unsigned size = 0;
      for (; key < keys.size() && (bucket == splitters.size() || keys[key] < splitters[bucket]); ++key)
        parts[bucket][size++] = keys[key];
      sizes[bucket] = size;
    }
  }
};

class Join : public Vertex {
public:
  Vector<Input<Vector<unsigned>>> parts; // of each tile
  Input<Vector<unsigned>> sizes;
  Output<Vector<unsigned>> bucket;
  Output<unsigned> size;

  void compute() {
    unsigned filled = 0;
    for (unsigned tile = 0; tile < parts.size(); ++tile)
      for (unsigned i = 0; i < sizes[tile]; ++i)
        bucket[filled++] = parts[tile][i];
    sort(bucket, filled);
    size = filled;
  }
};
