// `fifo` in SystemC: four methods (source, write side, read side, sink) that meet in signals.
//
//     systemc exact BATCHES    both clocks are events of one method, at exact times in exact order
//     systemc clock BATCHES    two sc_clocks, whose periods are whole femtoseconds
//     systemc order BATCHES    the instants of those sc_clocks: w, r, or b for both, one letter each
//     systemc version          the version of the kernel

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <systemc>

#include "cpu_time.h"

using namespace sc_core;

namespace {

constexpr unsigned kDepth = 16, kStages = 2;
constexpr unsigned kTopTwo = kDepth | kDepth / 2;

unsigned gray(unsigned pointer) { return pointer ^ pointer >> 1; }

struct Fifo : sc_module {
    sc_signal<std::uint64_t> write_data{"write_data"}, read_data{"read_data"};
    sc_signal<bool> full{"full", false}, empty{"empty", true}, valid{"valid", false};
    sc_signal<unsigned> write_gray{"write_gray"}, read_gray{"read_gray"};

    SC_HAS_PROCESS(Fifo);
    Fifo(sc_module_name name, const sc_event& write_clock, const sc_event& read_clock) : sc_module(name) {
        SC_METHOD(write_side);
        sensitive << write_clock;
        dont_initialize();
        SC_METHOD(read_side);
        sensitive << read_clock;
        dont_initialize();
    }

    // The source always offers a packet.
    void write_side() {
        if (!full.read()) {
            ram[write_pointer % kDepth] = write_data.read();
            write_pointer = (write_pointer + 1) % (2 * kDepth);
            write_gray.write(gray(write_pointer));
        }
        full.write(gray(write_pointer) == (into_write[kStages - 1] ^ kTopTwo));
        into_write[1] = into_write[0];
        into_write[0] = read_gray.read();
    }

    // The sink always takes and requests, so the output register never holds a read back.
    void read_side() {
        const bool accepted = !empty.read();
        if (accepted) {
            read_data.write(ram[read_pointer % kDepth]);
            read_pointer = (read_pointer + 1) % (2 * kDepth);
            read_gray.write(gray(read_pointer));
        }
        valid.write(accepted);
        empty.write(gray(read_pointer) == into_read[kStages - 1]);
        into_read[1] = into_read[0];
        into_read[0] = write_gray.read();
    }

   private:
    std::uint64_t ram[kDepth] = {};
    unsigned write_pointer = 0, read_pointer = 0;
    unsigned into_read[kStages] = {}, into_write[kStages] = {};
};

struct Source : sc_module {
    std::uint64_t sent = 0;

    SC_HAS_PROCESS(Source);
    Source(sc_module_name name, Fifo& to, const sc_event& clock) : sc_module(name), fifo(to) {
        fifo.write_data.write(1);
        SC_METHOD(tick);
        sensitive << clock;
        dont_initialize();
    }

    void tick() {
        if (fifo.full.read()) return;
        sent++;
        fifo.write_data.write(sent + 1);
    }

   private:
    Fifo& fifo;
};

struct Sink : sc_module {
    std::uint64_t received = 0, checksum = 0;

    SC_HAS_PROCESS(Sink);
    Sink(sc_module_name name, Fifo& from, const sc_event& clock) : sc_module(name), fifo(from) {
        SC_METHOD(tick);
        sensitive << clock;
        dont_initialize();
    }

    void tick() {
        if (fifo.valid.read()) {
            received++;
            checksum = checksum * kMultiplier + (fifo.read_data.read() ^ cycle << 32);
        }
        cycle++;
    }

   private:
    Fifo& fifo;
    std::uint64_t cycle = 0;
};

// Notifies the edges of both clocks at their exact times, rounded down to femtoseconds.
struct ExactClocks : sc_module {
    sc_event write, read;

    SC_HAS_PROCESS(ExactClocks);
    ExactClocks(sc_module_name name, std::uint64_t batches) : sc_module(name), left(batches) { SC_METHOD(next); }

    void next() {
        if (left-- == 0) return;
        const std::uint64_t now = write_time < read_time ? write_time : read_time;
        if (write_time == now) write.notify(), write_time += kWritePeriod;
        if (read_time == now) read.notify(), read_time += kReadPeriod;
        const std::uint64_t then = write_time < read_time ? write_time : read_time;
        next_trigger(sc_time::from_value(femtoseconds(then) - femtoseconds(now)));
    }

   private:
    std::uint64_t left, write_time = 0, read_time = kReadPhase;
};

// Notes the instants of two clocks.
struct Order : sc_module {
    std::string instants;

    SC_HAS_PROCESS(Order);
    Order(sc_module_name name, const sc_event& write_clock, const sc_event& read_clock) : sc_module(name) {
        SC_METHOD(write);
        sensitive << write_clock;
        dont_initialize();
        SC_METHOD(read);
        sensitive << read_clock;
        dont_initialize();
    }

    void write() { note('w'); }
    void read() { note('r'); }

   private:
    sc_time last = sc_max_time();

    void note(char edge) {
        if (sc_time_stamp() == last) {
            instants.back() = 'b';
        } else {
            instants.push_back(edge);
            last = sc_time_stamp();
        }
    }
};

// A time after `batches` instants and before the next one.
std::uint64_t end_of(std::uint64_t batches) {
    std::uint64_t write_time = 0, read_time = kReadPhase, last = 0;
    for (; batches > 0; batches--) {
        last = write_time < read_time ? write_time : read_time;
        if (write_time == last) write_time += kWritePeriod;
        if (read_time == last) read_time += kReadPeriod;
    }
    const std::uint64_t next = write_time < read_time ? write_time : read_time;
    return (femtoseconds(last) + femtoseconds(next)) / 2;
}

}  // namespace

int sc_main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "version") {
        std::printf("%s\n", sc_release());
        return 0;
    }
    if (argc != 3 || (mode != "exact" && mode != "clock" && mode != "order")) {
        std::fprintf(stderr, "usage: systemc exact|clock|order BATCHES, or systemc version\n");
        return 2;
    }
    const std::uint64_t batches = std::strtoull(argv[2], nullptr, 10);
    sc_set_time_resolution(1, SC_FS);

    std::unique_ptr<ExactClocks> exact;
    std::unique_ptr<sc_clock> write_clock, read_clock;
    const sc_event *write, *read;
    sc_time end = sc_max_time();
    if (mode == "exact") {
        exact = std::make_unique<ExactClocks>("clocks", batches);
        write = &exact->write, read = &exact->read;
    } else {
        const sc_time write_period(1000.0 / 914, SC_NS), read_period(1000.0 / 1326, SC_NS);
        write_clock = std::make_unique<sc_clock>("write_clock", write_period, 0.5, SC_ZERO_TIME, true);
        read_clock = std::make_unique<sc_clock>("read_clock", read_period, 0.5, sc_time(137, SC_PS), true);
        write = &write_clock->posedge_event(), read = &read_clock->posedge_event();
        end = sc_time::from_value(end_of(batches));
    }
    if (mode == "order") {
        Order order("order", *write, *read);
        sc_start(end);
        std::printf("%s\n", order.instants.c_str());
        return 0;
    }
    Fifo fifo("fifo", *write, *read);
    Source source("source", fifo, *write);
    Sink sink("sink", fifo, *read);
    sc_start(SC_ZERO_TIME);
    const std::uint64_t start = cpu_ns();
    if (exact) {
        sc_start();
    } else {
        sc_start(end);
    }
    answer(cpu_ns() - start, source.sent, sink.received, sink.checksum);
    return 0;
}
