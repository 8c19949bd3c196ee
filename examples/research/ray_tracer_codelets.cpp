// Rows of an image of spheres above a plane, lit from one side: how long a pixel takes depends on what its ray meets.
#include <cmath>
#include <poplar/Vertex.hpp>

using namespace poplar;

struct Point {
  float x, y, z;
};

static Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
static Point operator*(float s, Point a) { return {s * a.x, s * a.y, s * a.z}; }
static float dot(Point a, Point b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

class Trace : public MultiVertex {
public:
  Input<Vector<float>> spheres; // x, y, z and radius of each
  Vector<Output<Vector<float>>> image;
  unsigned firstRow, height;

  bool compute(unsigned worker) {
    for (unsigned row = 0; row < image.size(); ++row)
      for (unsigned column = worker; column < image[row].size(); column += numWorkers()) {
        const float width = image[row].size();
        const Point way = {(column + 0.5f) / width - 0.5f, 0.5f - (firstRow + row + 0.5f) / height, 1.0f};
        image[row][column] = brightness((1.0f / std::sqrt(dot(way, way))) * way);
      }
    return true;
  }

private:
  /// Of a ray from the origin: what the nearest sphere gets of the light, else that of the sky.
  float brightness(Point way) const {
    float nearest = 1e9f, light = 0.1f;
    for (unsigned i = 0; i < spheres.size(); i += 4) {
      const Point centre = {spheres[i], spheres[i + 1], spheres[i + 2]};
      const float radius = spheres[i + 3], along = dot(centre, way);
      const float left = radius * radius - dot(centre, centre) + along * along;
      if (left < 0.0f)
        continue;
      const float distance = along - std::sqrt(left);
      if (distance < 0.0f || distance >= nearest)
        continue;
      nearest = distance;
      const Point normal = (1.0f / radius) * (distance * way - centre);
      const float towards = dot(normal, {0.6f, 0.64f, -0.48f});
      light = towards > 0.0f ? towards : 0.0f;
    }
    return light;
  }
};
