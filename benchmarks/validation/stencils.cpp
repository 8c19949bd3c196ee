// Vertices of published stencil programs, written from their descriptions. Rows of a block lie one after the other; the
// fastest dimension is a row, with its halo at both ends.
#include <poplar/VectorTypes.hpp>
#include <poplar/Vertex.hpp>

using namespace poplar;

// Heat equation in three dimensions, seven points, as one writes it first.
class Heat3D : public Vertex {
 public:
  Vector<Input<Vector<float, VectorLayout::SPAN, 8>>> in;
  Vector<Output<Vector<float, VectorLayout::SPAN, 4>>> out;
  const unsigned height;
  const unsigned width;
  const unsigned depth;
  const float alpha;

  bool compute() {
    const float rest = 1.0f - 6.0f * alpha;
    const unsigned padded = width + 2;
    for (unsigned x = 0; x < height; ++x)
      for (unsigned y = 0; y < width; ++y)
        for (unsigned z = 1; z <= depth; ++z) {
          const unsigned centre = (x + 1) * padded + y + 1;
          out[x * width + y][z - 1] =
              rest * in[centre][z] + alpha * (in[centre + padded][z] + in[centre - padded][z] + in[centre + 1][z] +
                                              in[centre - 1][z] + in[centre][z + 1] + in[centre][z - 1]);
        }
    return true;
  }
};

// The same, two points at a time; the first of a row, and the last of an even one, alone.
class Heat3DPairs : public Vertex {
 public:
  Vector<Input<Vector<float, VectorLayout::SPAN, 8>>> in;
  Vector<Output<Vector<float, VectorLayout::SPAN, 4>>> out;
  const unsigned height;
  const unsigned width;
  const unsigned depth;
  const float alpha;

  bool compute() {
    const float rest = 1.0f - 6.0f * alpha;
    const unsigned padded = width + 2;
    for (unsigned x = 0; x < height; ++x)
      for (unsigned y = 0; y < width; ++y) {
        const unsigned centre = (x + 1) * padded + y + 1;
        const float *mid = &in[centre][0], *up = &in[centre - padded][0], *down = &in[centre + padded][0];
        const float *left = &in[centre - 1][0], *right = &in[centre + 1][0];
        float *to = &out[x * width + y][0];
        to[0] = rest * mid[1] + alpha * (up[1] + down[1] + left[1] + right[1] + mid[2] + mid[0]);
        if (depth % 2 == 0) {
          const unsigned z = depth;
          to[z - 1] = rest * mid[z] + alpha * (up[z] + down[z] + left[z] + right[z] + mid[z + 1] + mid[z - 1]);
        }
      }
    const unsigned pairs = depth / 2 + depth % 2;
    for (unsigned x = 0; x < height; ++x)
      for (unsigned y = 0; y < width; ++y) {
        const unsigned centre = (x + 1) * padded + y + 1;
        const float2 *mid = reinterpret_cast<const float2 *>(&in[centre][0]);
        const float2 *up = reinterpret_cast<const float2 *>(&in[centre - padded][0]);
        const float2 *down = reinterpret_cast<const float2 *>(&in[centre + padded][0]);
        const float2 *left = reinterpret_cast<const float2 *>(&in[centre - 1][0]);
        const float2 *right = reinterpret_cast<const float2 *>(&in[centre + 1][0]);
        float *to = &out[x * width + y][0];
        for (unsigned z = 1; z < pairs; ++z) {
          float2 sides = {mid[z - 1][1] + mid[z][1], mid[z][0] + mid[z + 1][0]};
          sides = rest * mid[z] + alpha * (sides + up[z] + down[z] + left[z] + right[z]);
          to[2 * z - 1] = sides[0];
          to[2 * z] = sides[1];
        }
      }
    return true;
  }
};

// Heat equation in two dimensions, five points, two at a time.
class Heat2DPairs : public Vertex {
 public:
  Vector<Input<Vector<float, VectorLayout::SPAN, 8>>> in;
  Vector<Output<Vector<float, VectorLayout::SPAN, 4>>> out;
  const unsigned height;
  const unsigned width;
  const float alpha;

  bool compute() {
    const float rest = 1.0f - 4.0f * alpha;
    for (unsigned i = 1; i <= height; ++i) {
      out[i - 1][0] = rest * in[i][1] + alpha * (in[i + 1][1] + in[i - 1][1] + in[i][2] + in[i][0]);
      if (width % 2 == 0) {
        const unsigned j = width;
        out[i - 1][j - 1] = rest * in[i][j] + alpha * (in[i + 1][j] + in[i - 1][j] + in[i][j + 1] + in[i][j - 1]);
      }
    }
    const unsigned pairs = width / 2 + width % 2;
    for (unsigned i = 1; i <= height; ++i) {
      const float2 *up = reinterpret_cast<const float2 *>(&in[i - 1][0]);
      const float2 *mid = reinterpret_cast<const float2 *>(&in[i][0]);
      const float2 *down = reinterpret_cast<const float2 *>(&in[i + 1][0]);
      float *to = &out[i - 1][0];
      for (unsigned j = 1; j < pairs; ++j) {
        float2 sides = {mid[j - 1][1] + mid[j][1], mid[j][0] + mid[j + 1][0]};
        sides = rest * mid[j] + alpha * (up[j] + sides + down[j]);
        to[2 * j - 1] = sides[0];
        to[2 * j] = sides[1];
      }
    }
    return true;
  }
};

// Diffusion in three dimensions of fourth order in space: thirteen points.
class Diffusion3D4 : public Vertex {
 public:
  Vector<Input<Vector<float, VectorLayout::SPAN, 8>>> in;
  Vector<Output<Vector<float, VectorLayout::SPAN, 4>>> out;
  const unsigned height;
  const unsigned width;
  const unsigned depth;
  const float alpha;

  bool compute() {
    const float near = alpha * 4.0f / 3.0f, far = alpha / -12.0f, rest = 1.0f - 7.5f * alpha;
    const unsigned padded = width + 4;
    for (unsigned x = 0; x < height; ++x)
      for (unsigned y = 0; y < width; ++y)
        for (unsigned z = 2; z < depth + 2; ++z) {
          const unsigned at = (x + 2) * padded + y + 2;
          out[x * width + y][z - 2] =
              rest * in[at][z] +
              near * (in[at + padded][z] + in[at - padded][z] + in[at + 1][z] + in[at - 1][z] + in[at][z + 1] +
                      in[at][z - 1]) +
              far * (in[at + 2 * padded][z] + in[at - 2 * padded][z] + in[at + 2][z] + in[at - 2][z] + in[at][z + 2] +
                     in[at][z - 2]);
        }
    return true;
  }
};

// The Thomas algorithm for one tridiagonal system, by one worker.
class Thomas : public Vertex {
 public:
  Input<Vector<float>> diagonal;
  Input<Vector<float>> beside;
  Input<Vector<float>> right;
  Output<Vector<float>> scratch;
  Output<Vector<float>> solution;

  bool compute() {
    const unsigned n = solution.size();
    scratch[0] = beside[0] / diagonal[0];
    solution[0] = right[0] / diagonal[0];
    for (unsigned i = 1; i < n; ++i) {
      const float scale = 1.0f / (diagonal[i] - beside[i - 1] * scratch[i - 1]);
      if (i < n - 1) scratch[i] = beside[i] * scale;
      solution[i] = (right[i] - beside[i - 1] * solution[i - 1]) * scale;
    }
    for (unsigned i = n - 1; i > 0; --i) solution[i - 1] -= scratch[i - 1] * solution[i];
    return true;
  }
};

// The Aliev-Panfilov model of a heart's tissue: diffusion of the potential in two dimensions, and a reaction at every
// point.
class AlievPanfilov : public Vertex {
 public:
  Vector<Input<Vector<float, VectorLayout::SPAN, 4>>> in;
  Vector<Output<Vector<float, VectorLayout::SPAN, 4>>> out;
  Vector<InOut<Vector<float, VectorLayout::SPAN, 4>>> recovery;
  const unsigned height;
  const unsigned width;
  const float alpha;
  const float step;

  bool compute() {
    const float k = 8.0f, a = 0.1f, b = 0.1f, epsilon = 0.01f, mu1 = 0.07f, mu2 = 0.3f;
    for (unsigned i = 1; i <= height; ++i)
      for (unsigned j = 1; j <= width; ++j) {
        out[i - 1][j - 1] = in[i][j] + step * (alpha * (-4 * in[i][j] + in[i + 1][j] + in[i - 1][j] + in[i][j + 1] +
                                                        in[i][j - 1]) -
                                               k * in[i][j] * (in[i][j] - a) * (in[i][j] - 1) -
                                               in[i][j] * recovery[i - 1][j - 1]);
        recovery[i - 1][j - 1] += step * (-epsilon - mu1 * recovery[i - 1][j - 1] / (mu2 + in[i][j])) *
                                  (recovery[i - 1][j - 1] + k * in[i][j] * (in[i][j] - b - 1));
      }
    return true;
  }
};
