// Short vectors.
#pragma once
#define HIP_STAND_IN_VECTORS(T, N) \
  struct N##1 { T x; }; struct N##2 { T x, y; }; struct N##4 { T x, y, z, w; }; \
  inline N##1 make_##N##1(T x) { return {x}; } \
  inline N##2 make_##N##2(T x, T y) { return {x, y}; } \
  inline N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
HIP_STAND_IN_VECTORS(char, char)
HIP_STAND_IN_VECTORS(unsigned char, uchar)
HIP_STAND_IN_VECTORS(short, short)
HIP_STAND_IN_VECTORS(int, int)
HIP_STAND_IN_VECTORS(unsigned, uint)
HIP_STAND_IN_VECTORS(float, float)
HIP_STAND_IN_VECTORS(double, double)
#undef HIP_STAND_IN_VECTORS
struct float3 { float x, y, z; };
struct int3 { int x, y, z; };
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
inline int3 make_int3(int x, int y, int z) { return {x, y, z}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
