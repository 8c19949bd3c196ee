// Input, Output and InOut.
#pragma once

#include <poplar/FieldTypes.hpp>
