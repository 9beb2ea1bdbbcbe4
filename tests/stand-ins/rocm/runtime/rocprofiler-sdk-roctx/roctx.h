#include "roctracer/roctx.h"
