// Compiled with the include directories of event/ alone: a folder sees only the folders that it states.
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#if defined(CASE_UPWARDS)
#include "noisefloor/mechanisms/laplace.h"
#elif defined(CASE_SIBLING)
#include "noisefloor/random/bit_stream.h"
#endif
