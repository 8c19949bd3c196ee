/* Another name of <tilearch.h>. */
#pragma once

#include <tilearch.h>
