// Short vectors of elements.
#pragma once

#include <ipudef.h>
