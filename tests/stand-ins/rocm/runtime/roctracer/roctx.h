// User markers.
#pragma once
#include <cstdint>
extern "C" {
void roctxMarkA(const char* message);
int roctxRangePushA(const char* message);
int roctxRangePop();
uint64_t roctxRangeStartA(const char* message);
void roctxRangeStop(uint64_t id);
int roctxProfilerPause(uint64_t thread);
int roctxProfilerResume(uint64_t thread);
}
#define roctxMark(message) roctxMarkA(message)
#define roctxRangePush(message) roctxRangePushA(message)
#define roctxRangeStart(message) roctxRangeStartA(message)
