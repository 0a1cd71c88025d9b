// Clocks `fifo_bench` in exact order.
//
//     Vfifo_bench BATCHES

#include <cstdlib>
#include <memory>

#include "Vfifo_bench.h"
#include "cpu_time.h"
#include "verilated.h"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: Vfifo_bench BATCHES\n");
        return 2;
    }
    const std::uint64_t batches = std::strtoull(argv[1], nullptr, 10);
    VerilatedContext context;
    auto top = std::make_unique<Vfifo_bench>(&context);
    top->wclk = top->rclk = 0;
    for (const bool rst_n : {true, false, true}) {
        top->rst_n = rst_n;
        top->eval();
    }
    std::uint64_t write_time = 0, read_time = kReadPhase;
    const std::uint64_t start = cpu_ns();
    for (std::uint64_t batch = 0; batch < batches; batch++) {
        const bool write_edge = write_time <= read_time, read_edge = read_time <= write_time;
        top->wclk = write_edge;
        top->rclk = read_edge;
        top->eval();
        top->wclk = top->rclk = 0;
        top->eval();
        write_time += write_edge ? kWritePeriod : 0;
        read_time += read_edge ? kReadPeriod : 0;
    }
    const std::uint64_t cpu = cpu_ns() - start;
    answer(cpu, top->sent, top->received, top->checksum);
    top->final();
    return 0;
}
