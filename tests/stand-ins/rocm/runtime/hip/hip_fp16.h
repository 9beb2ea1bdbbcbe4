// Half precision, as the compiler has it.
#pragma once
#include "hip/hip_runtime.h"
typedef _Float16 __half;
typedef _Float16 half;
inline __half __float2half(float x) { return (__half)x; }
inline float __half2float(__half x) { return (float)x; }
