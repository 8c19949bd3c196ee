// What the instructions of inline assembly do, in the arithmetic of the host: simulator/codelets/compiled/instruction_table.py
// says which instruction is which of these functions. Registers are words of 32 bits; one of the main file may also hold an
// address of the host, which has 64, and keeps them through additions.
#pragma once

#include <poplar/HalfFloat.hpp>
#include <popvision_worker.h>
#include <type_traits>

namespace popvision {

// What a worker keeps between instructions: the accumulators of the arithmetic unit, the scale of axpy, and the phases of
// the matrix products (AMP): partial sums that wait, and results that were not yet taken.
struct Arithmetic {
  float accumulators[16] = {};
  float scale = 0;
  float sums[16] = {}, partials[16] = {}, results[16] = {};
};
inline Arithmetic arithmetic;

// What the workers of a tile share: the weights of the matrix products, 16 rows of 4 pairs, and where the next come from.
struct Weights {
  unsigned words[16][8];
  long long next;
};
inline Weights &weights() {
  static Weights *tiles[1 << 16];
  Weights *&weights = tiles[popvision_tile() & 0xffff];
  if (weights == nullptr) weights = new Weights();
  return *weights;
}

namespace tile {

using Read = const unsigned *;
using Write = unsigned *;

// A register that an operand of the statement is in.
union Cell {
  long long word;
  unsigned words[4];
};

template <class T>
constexpr bool is_word = std::is_integral_v<T> || std::is_enum_v<T>;

template <class T>
void set(Cell &cell, T value) {
  if constexpr (std::is_pointer_v<T>) cell.word = reinterpret_cast<long long>(value);
  else if constexpr (is_word<T>) cell.word = sizeof(T) < 8 ? static_cast<int>(value) : static_cast<long long>(value);
  else __builtin_memcpy(cell.words, &value, sizeof value);
}
template <class T>
T get(const Cell &cell) {
  T value;
  if constexpr (std::is_pointer_v<T>) value = reinterpret_cast<T>(cell.word);
  else if constexpr (is_word<T>) value = static_cast<T>(cell.word);
  else __builtin_memcpy(&value, cell.words, sizeof value);
  return value;
}

// Words: 32 bits, unless an operand is an address beyond them.
inline long long word(long long value, long long x, long long y) {
  return x != static_cast<int>(x) || y != static_cast<int>(y) ? value : static_cast<int>(value);
}
inline long long add(long long x, long long y) { return word(x + y, x, y); }
inline long long sub(long long x, long long y) { return word(x - y, x, y); }
inline long long mul(long long x, long long y) { return static_cast<int>(static_cast<unsigned>(x) * static_cast<unsigned>(y)); }
inline unsigned left(long long x, long long n) { return n & ~31 ? 0 : static_cast<unsigned>(x) << n; }
inline unsigned right(long long x, long long n) { return n & ~31 ? 0 : static_cast<unsigned>(x) >> n; }
inline int arithmetic_right(long long x, long long n) { return static_cast<int>(x) >> (n & ~31 ? 31 : n); }
inline int leading_zeros(long long x) { return static_cast<unsigned>(x) ? __builtin_clz(static_cast<unsigned>(x)) : 32; }

// The two lower bytes of each, in turn.
inline unsigned mixed(long long x, long long y) {
  const unsigned a = static_cast<unsigned>(x), b = static_cast<unsigned>(y);
  return (a & 0xff) | (b & 0xff) << 8 | (a & 0xff00) << 8 | (b & 0xff00) << 16;
}
// Every other byte of two words.
inline unsigned even_bytes(long long x, long long y) {
  const unsigned a = static_cast<unsigned>(x), b = static_cast<unsigned>(y);
  return (a & 0xff) | (a >> 8 & 0xff00) | (b & 0xff) << 16 | (b << 8 & 0xff000000);
}
inline unsigned swapped_bytes(long long x) {
  const unsigned a = static_cast<unsigned>(x);
  return (a >> 8 & 0x00ff00ff) | (a & 0x00ff00ff) << 8;
}

template <class T>
T load(long long address) {
  T value;
  __builtin_memcpy(&value, reinterpret_cast<void *>(address), sizeof value);
  return value;
}
template <class T>
void store(long long address, T value) {
  __builtin_memcpy(reinterpret_cast<void *>(address), &value, sizeof value);
}
template <int n>
void load_words(Write to, long long address) {
  __builtin_memcpy(to, reinterpret_cast<void *>(address), 4 * n);
}
template <int n>
void store_words(Read from, long long address) {
  __builtin_memcpy(reinterpret_cast<void *>(address), from, 4 * n);
}
inline unsigned both(unsigned short half) { return half * 0x10001u; }

// Three addresses in one value: its number in a ring, as a host's addresses do not fit into 21 bits each.
struct Pack {
  long long at[3];
};
inline Pack packs[1 << 16];
inline unsigned packs_made;
inline long long packed(Pack pack) {
  packs[++packs_made & 0xffff] = pack;
  return packs_made & 0xffff;
}
// The step of an address that an instruction's two bits select: one, or a field of 10 bits of the strides.
inline long long step(long long strides, unsigned select) {
  if (select == 0) return 8;
  const int field = static_cast<int>(static_cast<unsigned>(strides) << (32 - 10 * select)) >> 22;
  return 8ll * field;
}
inline long long stepped(long long number, int which, long long strides, unsigned select) {
  Pack pack = packs[number & 0xffff];
  pack.at[which] += step(strides, select & 3);
  return packed(pack);
}
inline long long address(long long number, int which) { return packs[number & 0xffff].at[which]; }
inline long long load_two(Write x, Write y, long long pack, long long strides, unsigned select) {
  load_words<2>(x, address(pack, 0));
  load_words<2>(y, address(pack, 1));
  return stepped(stepped(pack, 0, strides, select), 1, strides, select >> 2);
}
inline long long load_and_store(Write x, Read z, long long pack, long long strides, unsigned select) {
  unsigned stored[2] = {z[0], z[1]};
  load_words<2>(x, address(pack, 0));
  store_words<2>(stored, address(pack, 2));
  return stepped(stepped(pack, 0, strides, select), 2, strides, select >> 2);
}
inline long long load_two_and_store(Write x, Read z, long long pack, long long strides, unsigned select) {
  unsigned stored[2] = {z[0], z[1]};
  pack = load_two(x, x + 2, pack, strides, select);
  store_words<2>(stored, address(pack, 2));
  return stepped(pack, 2, strides, select >> 4);
}
inline long long store_packed(Read z, long long pack, long long strides, unsigned select) {
  store_words<2>(z, address(pack, 2));
  return stepped(pack, 2, strides, select);
}

// Vectors of n elements.
template <class T, int n>
struct Elements {
  T of[n];
  explicit Elements(Read words) { __builtin_memcpy(of, words, sizeof of); }
  Elements() = default;
  void put(Write words) const { __builtin_memcpy(words, of, sizeof of); }
};
template <class T, int n, class F>
void one(Write to, Read x, F function) {
  const Elements<T, n> a(x);
  Elements<T, n> c;
  for (int i = 0; i < n; ++i) c.of[i] = static_cast<T>(function(static_cast<float>(a.of[i])));
  c.put(to);
}
template <class T, int n, class F>
void two(Write to, Read x, Read y, F function) {
  const Elements<T, n> a(x), b(y);
  Elements<T, n> c;
  for (int i = 0; i < n; ++i) c.of[i] = static_cast<T>(function(static_cast<float>(a.of[i]), static_cast<float>(b.of[i])));
  c.put(to);
}
template <class T, int n, class F>
void compare(Write to, Read x, Read y, F holds) {
  const Elements<T, n> a(x), b(y);
  Elements<std::conditional_t<sizeof(T) == 2, short, int>, n> c;
  for (int i = 0; i < n; ++i) c.of[i] = holds(static_cast<float>(a.of[i]), static_cast<float>(b.of[i])) ? -1 : 0;
  c.put(to);
}
template <class T, int n, class U>
void convert(Write to, Read x) {
  const Elements<T, n> a(x);
  Elements<U, n> c;
  for (int i = 0; i < n; ++i) c.of[i] = static_cast<U>(a.of[i]);
  c.put(to);
}
// Sums of the two halves of each word, and the larger of them.
template <int n>
void sum_pairs(Write to, Read x) {
  const Elements<half, 2 * n> a(x);
  Elements<float, n> c;
  for (int i = 0; i < n; ++i) c.of[i] = static_cast<float>(a.of[2 * i]) + static_cast<float>(a.of[2 * i + 1]);
  c.put(to);
}
template <int n>
void larger_of_pairs(Write to, Read x) {
  const Elements<half, 2 * n> a(x);
  Elements<half, 2> c{};
  for (int i = 0; i < n; ++i)
    c.of[i] = static_cast<half>(__builtin_fmaxf(static_cast<float>(a.of[2 * i]), static_cast<float>(a.of[2 * i + 1])));
  c.put(to);
}
template <class T, int n>
void clamp(Write to, Read x, Read limits) {
  const Elements<T, 2> limit(limits);
  one<T, n>(to, x, [&limit](float value) {
    return __builtin_fminf(__builtin_fmaxf(value, static_cast<float>(limit.of[0])), static_cast<float>(limit.of[1]));
  });
}
// Elements stay with a probability of the lowest 16 bits; bit 16 keeps all.
template <class T, int n>
void masked(Write to, Read x, Read probability) {
  Elements<T, n> a(x);
  const unsigned bits = probability[0];
  for (int i = 0; i < n; ++i)
    if (!(bits >> 16 & 1) && (popvision_random() >> 48) >= (bits & 0xffff)) a.of[i] = T(0);
  a.put(to);
}
// A register, or one of its halves, for all elements.
struct Repeated {
  unsigned words[4];
  explicit Repeated(unsigned word) : words{word, word, word, word} {}
  operator Read() const { return words; }
};

// Accumulators.
inline void multiply_accumulate(Read x, Read y) {
  const Elements<float, 2> a(x), b(y);
  for (int i = 0; i < 2; ++i) arithmetic.accumulators[2 * i] += a.of[i] * b.of[i];
}
template <int n>
void products_of_halves(Read x, Read y) {
  const Elements<half, n> a(x), b(y);
  for (int i = 0; i < n; ++i) arithmetic.accumulators[i & ~1] += static_cast<float>(a.of[i]) * static_cast<float>(b.of[i]);
}
template <class T, int n>
void accumulate(Read x, bool squares) {
  const Elements<T, n> a(x);
  for (int i = 0; i < n; ++i) {
    const float value = static_cast<float>(a.of[i]);
    arithmetic.accumulators[2 * i] += squares ? value * value : value;
  }
}
inline void outer_product(Read x, Read y) {
  const Elements<float, 2> a(x), b(y);
  for (int i = 0; i < 4; ++i) arithmetic.accumulators[2 * i] += a.of[i & 1] * b.of[i >> 1];
}
inline void scaled_sum(Write to, Read x, Read y) {
  const Elements<float, 2> a(x), b(y);
  float *sums = arithmetic.accumulators;
  Elements<float, 2> before;
  for (int i = 0; i < 2; ++i) {
    before.of[i] = sums[2 * i];
    sums[2 * i] = arithmetic.scale * a.of[i] + b.of[i];
  }
  before.put(to);
}
// The accumulators of even (0) or odd (1) number move on by two: the first two come out, the last two are set.
template <class T>
void shift_accumulators(Write to, Read x, int odd) {
  const Elements<T, 2> value(x);
  float *sums = arithmetic.accumulators + odd;
  Elements<T, 2> before;
  for (int i = 0; i < 2; ++i) before.of[i] = static_cast<T>(sums[2 * i]);
  for (int i = 0; i < 12; i += 2) sums[i] = sums[i + 4];
  for (int i = 0; i < 2; ++i) sums[12 + 2 * i] = static_cast<float>(value.of[i]);
  before.put(to);
}

// Slim convolutions: each of two sums per output channel passes on through the accumulators, and takes the product of
// four inputs with the weights of the accumulator that it comes to. `flags`: the set of weights, and 4 for three of them.
inline void slim_convolution(Write to, Read x, Read partial, unsigned flags) {
  const Elements<half, 4> given(x);
  const Elements<half, 2> added(partial);
  float *sums = arithmetic.accumulators;
  const int set = flags & 3, blocks = flags & 4 ? 3 : 4;
  Elements<half, 2> results;
  for (int k = 0; k < 2; ++k) results.of[k] = static_cast<half>(sums[2 * k]);
  for (int block = 0; block < blocks; ++block)
    for (int k = 0; k < 2; ++k) {
      const bool first = block == blocks - 1;
      const Elements<half, 4> weight(weights().words[2 * block + k] + 2 * set);
      float sum = first ? static_cast<float>(added.of[k]) : sums[4 * (block + 1) + 2 * k];
      for (int i = 0; i < 4; ++i) sum += static_cast<float>(weight.of[i]) * static_cast<float>(given.of[i]);
      sums[4 * block + 2 * k] = sum;
    }
  results.put(to);
}

// Matrix products: one phase. A round of `phases` multiplies `phases` groups of inputs with the weights of all rows; the
// sums begin with the partials of the round before, and come out in the round after, `outputs` a phase.
template <class T, int inputs, class U, int outputs, int phases>
void matrix_phase(Write to, Read x, Read partial, unsigned phase) {
  constexpr int every = inputs == 1 ? 2 : 1, rounds = phases / every;  // phases that give results, and their number
  Arithmetic &a = arithmetic;
  const Elements<T, inputs> given(x);
  const Elements<U, outputs> added(partial);
  phase %= phases;
  if (phase == 0) {
    __builtin_memcpy(a.results, a.sums, sizeof a.sums);
    __builtin_memcpy(a.sums, a.partials, sizeof a.sums);
  }
  const Weights &shared = weights();
  for (int group = 0; group < rounds; ++group)
    for (int k = 0; k < outputs; ++k) {
      // Units 0 to 7 hold the first two results of a phase, units 8 to 15 the others.
      const unsigned *row = shared.words[2 * group + (k & 1) + 8 * (k >> 1)];
      const Elements<T, inputs> weight(inputs == 1 ? row + phase : row + 2 * phase);
      for (int i = 0; i < inputs; ++i)
        a.sums[outputs * group + k] += static_cast<float>(weight.of[i]) * static_cast<float>(given.of[i]);
    }
  Elements<U, outputs> result{};
  if (phase % every == 0) {
    for (int k = 0; k < outputs; ++k) result.of[k] = static_cast<U>(a.results[outputs * (phase / every) + k]);
    for (int i = 0; i < outputs * (rounds - 1); ++i) a.partials[i] = a.partials[i + outputs];
    for (int k = 0; k < outputs; ++k) a.partials[outputs * (rounds - 1) + k] = static_cast<float>(added.of[k]);
  }
  result.put(to);
}

// Registers of a worker by their numbers, of which instructions of the arithmetic file name the lowest eight bits.
constexpr int WORKER_STATUS = 0x01, WEIGHTS_ADDRESS = 0x50, COUNTER_LOW = 0x60, COUNTER_HIGH = 0x61;
constexpr int CLEAR = 0x01, SCALE = 0x08;
constexpr unsigned ZERO_ACCUMULATORS = 8;
inline void write_arithmetic(int low, unsigned bits) {
  if (low == SCALE) __builtin_memcpy(&arithmetic.scale, &bits, sizeof bits);
  else if (bits & ZERO_ACCUMULATORS) {
    const float scale = arithmetic.scale;
    arithmetic = {};
    arithmetic.scale = scale;
  }
}

}  // namespace tile
}  // namespace popvision
