// Poplar's plain values and the simulator's.
#include "tables_poplar.hpp"

#include <poplar/TargetType.hpp>
#include <pybind11/eval.h>
#include <pybind11/numpy.h>

namespace poplar {

namespace {
// In the order of the places of Type; the first is no type.
constexpr const char *TYPE_NAMES[] = {
    "",      "bool",      "char",           "unsigned char", "signed char", "unsigned short", "short", "unsigned int",
    "int",   "unsigned longlong", "longlong", "quarter",     "half",        "float",          "quarter_metadata"};
constexpr std::size_t TYPE_COUNT = sizeof(TYPE_NAMES) / sizeof(*TYPE_NAMES);
} // namespace

constexpr Type BOOL(1);
constexpr Type CHAR(2);
constexpr Type UNSIGNED_CHAR(3);
constexpr Type SIGNED_CHAR(4);
constexpr Type UNSIGNED_SHORT(5);
constexpr Type SHORT(6);
constexpr Type UNSIGNED_INT(7);
constexpr Type INT(8);
constexpr Type UNSIGNED_LONGLONG(9);
constexpr Type LONGLONG(10);
constexpr Type QUARTER(11);
constexpr Type HALF(12);
constexpr Type FLOAT(13);
constexpr Type QUARTER_METADATA(14);

StringRef Type::toString() const { return TYPE_NAMES[place]; }
bool Type::requiresMetadata() const { return *this == QUARTER; }
bool Type::isFloatingPoint() const { return *this == HALF || *this == FLOAT || *this == QUARTER; }

thread_local PyObject *bridge::place_of_call = nullptr;

std::string toString(TargetType type) {
  return type == TargetType::IPU ? "IPU" : type == TargetType::IPU_MODEL ? "IPU_MODEL" : "CPU";
}

namespace bridge {

bool equal(const Handle &a, const Handle &b) {
  if (!a.share() || !b.share() || a.share() == b.share())
    return a.share() == b.share();
  Lock lock;
  const int same = PyObject_RichCompareBool(static_cast<PyObject *>(a.share().get()),
                                            static_cast<PyObject *>(b.share().get()), Py_EQ);
  if (same < 0)
    rethrow();
  return same != 0;
}

std::size_t hash(const Handle &a) {
  if (!a.share())
    return 0;
  Lock lock;
  const Py_hash_t found = PyObject_Hash(static_cast<PyObject *>(a.share().get()));
  if (found == -1 && PyErr_Occurred())
    rethrow();
  return static_cast<std::size_t>(found);
}

py::object text_object(const char *data, std::size_t size) {
  return checked(PyUnicode_DecodeUTF8(data, static_cast<Py_ssize_t>(size), "surrogateescape"));
}

std::string text_of(py::handle value) {
  const py::object text = checked(PyObject_Str(value.ptr()));
  const py::object bytes = checked(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

py::object pointer_object(const void *pointer) {
  static Place c_void_p{"ctypes", "c_void_p"};
  return call(c_void_p.get(), reinterpret_cast<std::uintptr_t>(pointer));
}

py::object array_object(const void *data, const TypeTraits &traits, std::size_t count) {
  const char kind = traits.isBool ? '?' : traits.isFloat ? 'f' : traits.isSigned ? 'i' : 'u';
  const std::string name = kind == '?' ? "?" : kind + std::to_string(traits.size);
  return py::array(py::dtype(name), {static_cast<py::ssize_t>(count)}, {}, data);
}

PyObject *class_of_source(const char *source, const char *name) {
  py::dict scope;
  py::exec(source, scope);
  return py::object(scope[name]).release().ptr();
}

py::object number_object(const void *data, const TypeTraits &traits) {
  return array_object(data, traits, 1).attr("item")(0);
}

py::object Convert<Type>::to(const Type &value) {
  static PyObject *types[TYPE_COUNT] = {};
  PyObject *&type = types[value.index()];
  if (value.index() == 0)
    refuse_empty("Type");
  if (type == nullptr) {
    Place named{"simulator.base.types", "type_named"};
    type = call(named.get(), std::string(TYPE_NAMES[value.index()])).release().ptr();
  }
  return py::reinterpret_borrow<py::object>(type);
}

Type Convert<Type>::from(const py::object &value) {
  const std::string name = value.attr("name").cast<std::string>();
  for (unsigned char place = 1; place < TYPE_COUNT; ++place)
    if (name == TYPE_NAMES[place])
      return Type(place);
  throw poplar_error("The type '" + name + "' has no name in C++.");
}

py::object Convert<Interval>::to(const Interval &value) {
  static Place place{"simulator.poplar", "Interval"};
  return call(place.get(), value.begin(), value.end());
}

Interval Convert<Interval>::from(const py::object &value) {
  return {Convert<std::size_t>::from(value[py::int_(0)]), Convert<std::size_t>::from(value[py::int_(1)])};
}

py::object Convert<VariableRef>::to(const VariableRef &value) {
  static Place place{"simulator.poplar", "VariableRef"};
  return call(place.get(), value.id);
}

VariableRef Convert<VariableRef>::from(const py::object &value) {
  return {Convert<unsigned>::from(value[py::int_(0)])};
}

py::object Convert<VariableInterval>::to(const VariableInterval &value) {
  static Place place{"simulator.poplar", "VariableInterval"};
  return call(place.get(), value.var, value.interval);
}

VariableInterval Convert<VariableInterval>::from(const py::object &value) {
  return {Convert<VariableRef>::from(value[py::int_(0)]), Convert<Interval>::from(value[py::int_(1)])};
}

py::object Convert<VertexPerfEstimate>::to(const VertexPerfEstimate &value) {
  static Place place{"simulator.poplar", "VertexPerfEstimate"};
  return call(place.get(), value.cycles, value.flops);
}

VertexPerfEstimate Convert<VertexPerfEstimate>::from(const py::object &value) {
  return {Convert<std::uint64_t>::from(value.attr("cycles")), Convert<std::uint64_t>::from(value.attr("flops"))};
}

py::object Convert<OptionFlags>::to(const OptionFlags &value) {
  py::dict flags;
  for (const OptionFlags::OptionFlag &flag : value)
    flags[bridge::to(flag.first)] = bridge::to(flag.second);
  return flags;
}

OptionFlags Convert<OptionFlags>::from(const py::object &value) {
  OptionFlags flags;
  for (const auto &[name, setting] : Convert<std::map<std::string, std::string>>::from(value))
    flags.set(name, setting);
  return flags;
}

py::object Convert<replication_factor>::to(const replication_factor &value) { return bridge::to(value.value); }

namespace {

/// The simulator's place of a line, one object for each line of the program.
py::object place_object(const SourceLocation &location) {
  static Place place{"simulator.poplar", "SourceLocation"}, absolute{"os.path", "abspath"};
  static std::map<std::pair<std::string, unsigned>, PyObject *> places;
  PyObject *&object = places[{location.getFileName(), location.getLineNumber()}];
  if (object == nullptr)
    object = call(place.get(), Convert<std::string>::from(call(absolute.get(), location.getFileName())),
                  location.getLineNumber())
                 .release()
                 .ptr();
  return py::reinterpret_borrow<py::object>(object);
}

/// Tell the simulator to ask for the place of the call where no frame of Python is the user's.
bool answer_for_places() {
  static Place unknown{"simulator.graph.debug_context", "UNKNOWN_PLACE"};
  py::module_::import("simulator.graph.debug_context").attr("host_place") = py::cpp_function([] {
    return py::reinterpret_borrow<py::object>(place_of_call ? place_of_call : unknown.get());
  });
  return true;
}

py::object optional_record(const DebugInfo &parent) { return parent.share() ? object_of(parent) : py::none(); }

} // namespace

py::object Convert<DebugContext>::to(const DebugContext &value) {
  static Place place{"simulator.poplar", "DebugContext"};
  const DebugNameAndId &named = value.getNameAndId();
  static const bool answers = answer_for_places();
  const py::object location = value.getLocation().isValid() ? place_object(value.getLocation()) : py::none();
  place_of_call = answers && !location.is_none() ? location.ptr() : nullptr;
  return call(place.get(), named.getName(), optional_record(named.getParent()), location);
}

py::object Convert<DebugNameAndId>::to(const DebugNameAndId &value) {
  static Place place{"simulator.poplar", "DebugNameAndId"};
  return call(place.get(), value.getName(), optional_record(value.getParent()));
}

py::object Convert<QuarterMetadata>::to(const QuarterMetadata &value) {
  static PyObject *metadata_class = class_of_source(R"(
from simulator.poplar import QuarterMetadata
class HostMetadata(QuarterMetadata):
    """The byte of the program's own object."""
    def __init__(self, memory):
        self.memory = memory
    _format = property(lambda self: QuarterMetadata(self.memory[0]).getFormat())
    _scale = property(lambda self: QuarterMetadata(self.memory[0]).getScale())
    def set(self, other):
        self.memory[0] = other.getBinary()
)", "HostMetadata");
  static_assert(sizeof(QuarterMetadata) == 1, "the simulator takes it for its byte");
  return call(metadata_class, Memory{const_cast<QuarterMetadata *>(&value), sizeof(value)});
}

py::object Convert<FloatingPointBehaviour>::to(const FloatingPointBehaviour &value) {
  static Place place{"simulator.poplar", "FloatingPointBehaviour"};
  return call(place.get(), value.inv, value.div0, value.oflo, value.esr, value.nanoo);
}

py::object Convert<program::PrintTensorFmt>::to(const program::PrintTensorFmt &value) {
  static Place place{"simulator.poplar.program", "PrintTensorFmt"};
  return call(place.get(), value.summariseThreshold, value.edgeItems, value.maxLineWidth, value.digits,
              value.floatFormat, std::string(1, value.separator), std::string(1, value.openBracket),
              std::string(1, value.closeBracket));
}

} // namespace bridge
} // namespace poplar
