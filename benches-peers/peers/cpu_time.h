// CPU time of this process, and the line in which a measured process answers.
#pragma once

#include <sys/resource.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>

inline std::uint64_t cpu_ns() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto ns = [](const timeval& t) { return std::uint64_t(t.tv_sec) * 1'000'000'000 + t.tv_usec * 1'000; };
    return ns(usage.ru_utime) + ns(usage.ru_stime);
}

inline void answer(std::uint64_t cpu, std::uint64_t sent, std::uint64_t received, std::uint64_t checksum) {
    std::printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", cpu, sent, received, checksum);
}

// The clocks of `fifo` in units of 1 / (914 MHz * 1326 MHz).
constexpr std::uint64_t kWritePeriod = 1'326'000'000, kReadPeriod = 914'000'000;
constexpr std::uint64_t kReadPhase = std::uint64_t(137) * 914 * 1326;
constexpr std::uint64_t kMultiplier = 6364136223846793005u;

// Whole femtoseconds of a time in those units, rounded down.
inline std::uint64_t femtoseconds(std::uint64_t units) {
    // A unit is 10^15 / (914 * 10^6 * 1326 * 10^6) fs.
    return std::uint64_t((unsigned __int128)(units) * 1'000 / (914 * 1326));
}
