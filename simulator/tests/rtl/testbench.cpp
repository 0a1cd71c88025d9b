// Drives every FIFO of `twins` with a source and a sink and writes what happens on each instant.
//
//     twins WRITE_HZ READ_HZ READ_PHASE_FS PATTERN BATCHES
//
// Output, for each instant with an edge: one byte of edges (1 write, 2 read), then for each FIFO one
// byte of bits (1 write accepted, 2 read accepted, 4 full, 8 empty, 16 output valid; the flags as they
// are after the edge) and the taken value in 8 little-endian bytes, 0 if none.
//
// Time is counted exactly, in units of 1 / (WRITE_HZ * READ_HZ * 10^15) seconds.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "Vtwins.h"
#include "verilated.h"

namespace {

using Wide = unsigned __int128;

enum class Pattern { Continuous, Burst, Random, Apart };

std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

constexpr std::uint64_t kSeed = 0xC10C09141326u;

bool sends(Pattern pattern, std::uint64_t cycle) {
    if (pattern == Pattern::Continuous) return true;
    if (pattern == Pattern::Burst) return cycle % 29 < 11;
    return (mix(cycle ^ kSeed) & 7) != 0;
}

bool takes(Pattern pattern, std::uint64_t cycle) {
    if (pattern == Pattern::Continuous) return true;
    if (pattern == Pattern::Burst) return cycle % 37 > 12;
    return (mix(cycle ^ kSeed ^ 0xA55A) & 7) < 4;
}

bool requests(Pattern pattern, std::uint64_t cycle) {
    if (pattern != Pattern::Apart) return takes(pattern, cycle);
    return (mix(cycle ^ kSeed ^ 0xA55A) >> 3 & 7) < 4;
}

std::uint64_t number(const char* text) {
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(text, &end, 10);
    if (end == text || *end != '\0') {
        std::fprintf(stderr, "twins: `%s` is no number\n", text);
        std::exit(2);
    }
    return value;
}

Pattern pattern_named(const char* name) {
    if (std::strcmp(name, "continuous") == 0) return Pattern::Continuous;
    if (std::strcmp(name, "burst") == 0) return Pattern::Burst;
    if (std::strcmp(name, "random") == 0) return Pattern::Random;
    if (std::strcmp(name, "apart") == 0) return Pattern::Apart;
    std::fprintf(stderr, "twins: no pattern `%s`\n", name);
    std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) {
        std::fprintf(stderr, "usage: twins WRITE_HZ READ_HZ READ_PHASE_FS PATTERN BATCHES\n");
        return 2;
    }
    const Wide write_hz = number(argv[1]), read_hz = number(argv[2]);
    const Wide fs_per_second = 1'000'000'000'000'000u;
    const Wide write_period = read_hz * fs_per_second, read_period = write_hz * fs_per_second;
    Wide write_time = 0, read_time = Wide(number(argv[3])) * write_hz * read_hz;
    const Pattern pattern = pattern_named(argv[4]);
    const std::uint64_t batches = number(argv[5]);

    VerilatedContext context;
    auto top = std::make_unique<Vtwins>(&context);
    constexpr unsigned kFifos = sizeof(top->wr_data) / sizeof(std::uint64_t);
    static_assert(kFifos < 64, "one bit of a word for each FIFO");
    constexpr std::uint64_t kAll = (std::uint64_t(1) << kFifos) - 1;
    for (unsigned i = 0; i < kFifos; i++) top->wr_data[i] = 1;
    top->wclk = top->rclk = 0;
    for (const bool rst_n : {true, false, true}) {
        top->rst_n = rst_n;
        top->eval();
    }

    std::uint64_t write_cycle = 0, read_cycle = 0;
    for (std::uint64_t batch = 0; batch < batches; batch++) {
        const bool write_edge = write_time <= read_time, read_edge = read_time <= write_time;
        top->wr_en = write_edge && sends(pattern, write_cycle) ? kAll : 0;
        top->take = read_edge && takes(pattern, read_cycle) ? kAll : 0;
        top->rd_en = read_edge && requests(pattern, read_cycle) ? kAll : 0;
        top->eval();
        // What the circuit accepts and hands out on the coming edge.
        const std::uint64_t written = top->wr_ok, read = top->rd_ok, taken = top->take & top->valid;
        std::uint64_t values[kFifos];
        for (unsigned i = 0; i < kFifos; i++) values[i] = (taken >> i & 1) ? top->rd_data[i] : 0;

        // Clocks that rise at one instant rise in one evaluation.
        top->wclk = write_edge;
        top->rclk = read_edge;
        top->eval();
        std::putchar(write_edge | read_edge << 1);
        for (unsigned i = 0; i < kFifos; i++) {
            const auto bit = [i](std::uint64_t word) { return int(word >> i & 1); };
            std::putchar(bit(written) | bit(read) << 1 | bit(top->full) << 2 | bit(top->empty) << 3 |
                         bit(top->valid) << 4);
            for (unsigned byte = 0; byte < 8; byte++) std::putchar(int(values[i] >> 8 * byte & 255));
        }

        top->wclk = top->rclk = 0;
        for (unsigned i = 0; i < kFifos; i++) top->wr_data[i] += written >> i & 1;
        top->eval();
        if (write_edge) write_time += write_period, write_cycle++;
        if (read_edge) read_time += read_period, read_cycle++;
    }
    top->final();
    return std::fflush(stdout) == 0 ? 0 : 1;
}
