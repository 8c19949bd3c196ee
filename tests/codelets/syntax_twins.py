"""Codelets in Python and in C++ that do the same work, pairs of one name: their code is compared."""

import numpy as np

from simulator.codelets.vertex import InOut, Input, MultiVertex, Output, Vector, Vertex
from simulator.poplar import FLOAT, INT


class AddOne(Vertex):
    x = InOut(FLOAT)

    def compute(self):
        self.x += 1


class Triad(Vertex):
    a = Input(Vector(FLOAT))
    b = Input(Vector(FLOAT))
    c = Output(Vector(FLOAT))
    q = FLOAT

    def compute(self):
        self.c[:] = self.a + self.q * self.b


class Dot(Vertex):
    a = Input(Vector(FLOAT))
    b = Input(Vector(FLOAT))
    out = Output(FLOAT)

    def compute(self):
        total = 0.0
        for i in range(len(self.a)):
            total += self.a[i] * self.b[i]
        self.out = total


class SumOfSquares(Vertex):
    x = Input(Vector(FLOAT))
    out = Output(FLOAT)

    def compute(self):
        self.out = (self.x * self.x).sum()


class Relu(Vertex):
    x = InOut(Vector(FLOAT))

    def compute(self):
        for i in range(len(self.x)):
            if self.x[i] < 0:
                self.x[i] = 0


class Sigmoid(Vertex):
    x = Input(Vector(FLOAT))
    y = Output(Vector(FLOAT))

    def compute(self):
        self.y[:] = 1 / (1 + np.exp(-self.x))


class MatrixVector(Vertex):
    m = Vector(Input(Vector(FLOAT)))
    x = Input(Vector(FLOAT))
    y = Output(Vector(FLOAT))

    def compute(self):
        for row in range(len(self.y)):
            total = 0.0
            for column in range(len(self.x)):
                total += self.m[row][column] * self.x[column]
            self.y[row] = total


class Product(Vertex):
    a = Input(Vector(FLOAT))
    b = Input(Vector(FLOAT))
    c = Output(Vector(FLOAT))
    rows = INT
    columns = INT
    inner = INT

    def compute(self):
        for i in range(self.rows):
            for j in range(self.columns):
                total = 0.0
                for k in range(self.inner):
                    total += self.a[i * self.inner + k] * self.b[k * self.columns + j]
                self.c[i * self.columns + j] = total


class Stencil(Vertex):
    x = Input(Vector(FLOAT))
    y = Output(Vector(FLOAT))

    def compute(self):
        for i in range(1, len(self.x) - 1):
            self.y[i] = 0.25 * self.x[i - 1] + 0.5 * self.x[i] + 0.25 * self.x[i + 1]


def horner(x):
    return ((x * 3 + 2) * x + 5) * x + 7


class Polynomial(Vertex):
    x = InOut(Vector(FLOAT))

    def compute(self):
        for i in range(len(self.x)):
            self.x[i] = horner(self.x[i])


class Shared(MultiVertex):
    x = InOut(Vector(FLOAT))

    def compute(self, workerId):
        for i in range(workerId, len(self.x), 6):
            self.x[i] += 1


class Count(Vertex):
    x = Input(Vector(INT))
    bins = InOut(Vector(INT))

    def compute(self):
        for value in self.x:
            self.bins[value] += 1


class Largest(Vertex):
    x = Input(Vector(FLOAT))
    value = Output(FLOAT)
    place = Output(INT)

    def compute(self):
        best, at = self.x[0], 0
        for i in range(1, len(self.x)):
            if self.x[i] > best:
                best, at = self.x[i], i
        self.value = best
        self.place = at


PAIRS = (
    AddOne,
    Triad,
    Dot,
    SumOfSquares,
    Relu,
    Sigmoid,
    MatrixVector,
    Product,
    Stencil,
    Polynomial,
    Shared,
    Count,
    Largest,
)

SOURCE = """
#include <cmath>
#include <poplar/Vertex.hpp>
using namespace poplar;
using In = Input<Vector<float>>;
using Out = Output<Vector<float>>;

class AddOne : public Vertex { public:
  InOut<float> x;
  bool compute() { *x = *x + 1.0f; return true; }
};

class Triad : public Vertex { public:
  In a, b; Out c; float q;
  bool compute() { for (unsigned i = 0; i < c.size(); ++i) c[i] = a[i] + q * b[i]; return true; }
};

class Dot : public Vertex { public:
  In a, b; Output<float> out;
  bool compute() {
    float total = 0;
    for (unsigned i = 0; i < a.size(); ++i) total += a[i] * b[i];
    *out = total; return true;
  }
};

class SumOfSquares : public Vertex { public:
  In x; Output<float> out;
  bool compute() {
    float total = 0;
    for (unsigned i = 0; i < x.size(); ++i) total += x[i] * x[i];
    *out = total; return true;
  }
};

class Relu : public Vertex { public:
  InOut<Vector<float>> x;
  bool compute() { for (unsigned i = 0; i < x.size(); ++i) if (x[i] < 0) x[i] = 0; return true; }
};

class Sigmoid : public Vertex { public:
  In x; Out y;
  bool compute() { for (unsigned i = 0; i < y.size(); ++i) y[i] = 1 / (1 + std::exp(-x[i])); return true; }
};

class MatrixVector : public Vertex { public:
  Vector<In> m; In x; Out y;
  bool compute() {
    for (unsigned row = 0; row < y.size(); ++row) {
      float total = 0;
      for (unsigned column = 0; column < x.size(); ++column) total += m[row][column] * x[column];
      y[row] = total;
    }
    return true;
  }
};

class Product : public Vertex { public:
  In a, b; Out c; int rows, columns, inner;
  bool compute() {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        float total = 0;
        for (int k = 0; k < inner; ++k) total += a[i * inner + k] * b[k * columns + j];
        c[i * columns + j] = total;
      }
    return true;
  }
};

class Stencil : public Vertex { public:
  In x; Out y;
  bool compute() {
    for (unsigned i = 1; i < x.size() - 1; ++i) y[i] = 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
    return true;
  }
};

__attribute__((noinline)) static float horner(float x) { return ((x * 3 + 2) * x + 5) * x + 7; }

class Polynomial : public Vertex { public:
  InOut<Vector<float>> x;
  bool compute() { for (unsigned i = 0; i < x.size(); ++i) x[i] = horner(x[i]); return true; }
};

class Shared : public MultiVertex { public:
  InOut<Vector<float>> x;
  bool compute(unsigned workerId) { for (unsigned i = workerId; i < x.size(); i += 6) x[i] += 1; return true; }
};

class Count : public Vertex { public:
  Input<Vector<int>> x; InOut<Vector<int>> bins;
  bool compute() { for (unsigned i = 0; i < x.size(); ++i) bins[x[i]] += 1; return true; }
};

class Largest : public Vertex { public:
  In x; Output<float> value; Output<int> place;
  bool compute() {
    float best = x[0];
    int at = 0;
    for (unsigned i = 1; i < x.size(); ++i) if (x[i] > best) { best = x[i]; at = i; }
    *value = best; *place = at; return true;
  }
};
"""
