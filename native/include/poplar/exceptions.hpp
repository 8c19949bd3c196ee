// Poplar's exceptions. Each carries the simulator's sentence; what has no exception of its own is a poplar_error.
#ifndef poplar_exceptions_hpp
#define poplar_exceptions_hpp

#include <stdexcept>
#include <string>
#include <vector>

#include <poplar/Handle.hpp>

/// One type in all programs and libraries, also where they are built with -fvisibility=hidden.
#define POPLAR_API __attribute__((visibility("default")))
#define POPLAR_EXCEPTION(NAME, BASE)                                                                                   \
  struct POPLAR_API NAME : BASE {                                                                                                 \
    explicit NAME(const std::string &what) : BASE(what) {}                                                             \
    ~NAME() override;                                                                                                  \
  }

namespace poplar {

struct POPLAR_API poplar_error : std::runtime_error {
  explicit poplar_error(const std::string &what) : std::runtime_error(what) {}
  ~poplar_error() override;
};

POPLAR_EXCEPTION(graph_program_compilation_error, poplar_error);
POPLAR_EXCEPTION(graph_object_creation_error, poplar_error);
POPLAR_EXCEPTION(graph_object_load_error, poplar_error);
POPLAR_EXCEPTION(no_environment, poplar_error);
POPLAR_EXCEPTION(unknown_vertex_type, poplar_error);
POPLAR_EXCEPTION(unknown_field, poplar_error);
POPLAR_EXCEPTION(control_program_error, poplar_error);
POPLAR_EXCEPTION(type_error, poplar_error);
POPLAR_EXCEPTION(index_error, poplar_error);
POPLAR_EXCEPTION(no_size_specified, poplar_error);
POPLAR_EXCEPTION(graph_connection_error, poplar_error);
POPLAR_EXCEPTION(graph_cycle_error, poplar_error);
POPLAR_EXCEPTION(graph_recursion_error, poplar_error);
POPLAR_EXCEPTION(graph_replication_error, poplar_error);
POPLAR_EXCEPTION(profiling_disabled, poplar_error);
POPLAR_EXCEPTION(missing_profile_data, poplar_error);
POPLAR_EXCEPTION(missing_graph_profile, poplar_error);
POPLAR_EXCEPTION(missing_perf_estimate, poplar_error);
POPLAR_EXCEPTION(invalid_tile_mapping, poplar_error);
POPLAR_EXCEPTION(tensor_creation_error, poplar_error);
POPLAR_EXCEPTION(tensor_io_state_error, poplar_error);
POPLAR_EXCEPTION(tensor_metadata_error, poplar_error);
POPLAR_EXCEPTION(stream_connection_error, poplar_error);
POPLAR_EXCEPTION(overflow_error, poplar_error);
POPLAR_EXCEPTION(memory_elem_constraints_error, poplar_error);
POPLAR_EXCEPTION(stream_memory_allocation_error, poplar_error);
POPLAR_EXCEPTION(invalid_machine_model, poplar_error);
POPLAR_EXCEPTION(invalid_option, poplar_error);
POPLAR_EXCEPTION(symbol_error, poplar_error);
POPLAR_EXCEPTION(file_load_error, poplar_error);
POPLAR_EXCEPTION(parse_error, poplar_error);

/// `output` holds what the linker said.
struct POPLAR_API link_error : poplar_error {
  explicit link_error(const std::string &what, std::string output = "")
      : poplar_error(what), output(std::move(output)) {}
  ~link_error() override;
  std::string output;
};

/// Tensors and code do not fit into the memory of a tile. The profile, if there is one, is at `profilePath`.
struct POPLAR_API graph_memory_allocation_error : link_error {
  explicit graph_memory_allocation_error(const std::string &what, std::string profilePath = "")
      : link_error(what), profilePath(std::move(profilePath)) {}
  ~graph_memory_allocation_error() override;
  std::string getProfilePath() const { return profilePath; }
  std::string profilePath;
};

/// What went wrong on the device.
enum class ErrorCode {
  NONE,
  UNKNOWN,
  TRAP,
  FLOATING_POINT_INVALID_OPERATION,
  FLOATING_POINT_DIVIDE_BY_ZERO,
  FLOATING_POINT_OVERFLOW,
  TILE_MEMORY_BANK_CONFLICT,
  INVALID_EXCHANGE_CONFIGURATION,
  INVALID_ADDRESS,
  INVALID_OPERAND,
  INVALID_PROGRAM_COUNTER,
  INVALID_INSTRUCTION,
  EXCHANGE_ERROR,
  MEMORY_ERROR,
  IPUSOFTERR,
  LINK_DOWN,
  HOST_LINK_DOWN,
  HOST_SYNC_TIMEOUT,
  IPU_MEMORY_FAILURE
};

/// A place of the device where an error happens: a tile, and a program or vertex.
class ErrorLocation : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  ErrorLocation() = default;
};
inline bool operator==(const ErrorLocation &a, const ErrorLocation &b) { return bridge::equal(a, b); }
inline bool operator!=(const ErrorLocation &a, const ErrorLocation &b) { return !bridge::equal(a, b); }

/// One error of a run; `isSimulated`: the user inserted it.
struct ErrorInfo {
  ErrorCode code;
  ErrorLocation location;
  bool isSimulated;
};

/// What makes a device usable again.
enum class RecoveryAction { IPU_RESET, LINK_RESET, PARTITION_RESET, FULL_RESET };

/// A run failed; `errors` says where.
struct POPLAR_API runtime_error : poplar_error {
  explicit runtime_error(const std::string &what) : poplar_error(what) {}
  ~runtime_error() override;
  std::vector<ErrorInfo> errors;
};

POPLAR_EXCEPTION(application_runtime_error, runtime_error);
POPLAR_EXCEPTION(system_runtime_error, runtime_error);
struct POPLAR_API recoverable_runtime_error : system_runtime_error {
  explicit recoverable_runtime_error(const std::string &what) : system_runtime_error(what) {}
  ~recoverable_runtime_error() override;
  RecoveryAction getRecoveryAction() const { return action; }
  RecoveryAction action = RecoveryAction::IPU_RESET;
};

POPLAR_EXCEPTION(unrecoverable_runtime_error, system_runtime_error);
POPLAR_EXCEPTION(unknown_runtime_error, system_runtime_error);

} // namespace poplar

#endif
