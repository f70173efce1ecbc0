// The AVX-512 path once more, with a multiply-add of words in one instruction.
#define LEANTTA_VNNI
#include "depthwise_avx512.cpp"
