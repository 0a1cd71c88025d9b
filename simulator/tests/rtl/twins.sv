// N independent FIFOs on the same two clocks, each with ports of its own.
//
// `instances.svh` lists them as `FIFO(index, module, depth, stages)`.

`define FIFO(I, MODULE, ENTRIES, REGISTERS) \
    MODULE #(.DEPTH(ENTRIES), .STAGES(REGISTERS)) fifo``I ( \
        .wclk(wclk), .wrst_n(rst_n), .rclk(rclk), .rrst_n(rst_n), \
        .wr_en(wr_en[I]), .wr_data(wr_data[I]), .wr_ok(wr_ok[I]), .full(full[I]), \
        .take(take[I]), .rd_en(rd_en[I]), .rd_ok(rd_ok[I]), \
        .empty(empty[I]), .valid(valid[I]), .rd_data(rd_data[I]) \
    );

module twins #(
    parameter int N = 1
) (
    input  logic         wclk,
    input  logic         rclk,
    input  logic         rst_n,
    input  logic [N-1:0] wr_en,
    input  logic [63:0]  wr_data[N],
    output logic [N-1:0] wr_ok,
    output logic [N-1:0] full,
    input  logic [N-1:0] take,
    input  logic [N-1:0] rd_en,
    output logic [N-1:0] rd_ok,
    output logic [N-1:0] empty,
    output logic [N-1:0] valid,
    output logic [63:0]  rd_data[N]
);
    `include "instances.svh"
endmodule
