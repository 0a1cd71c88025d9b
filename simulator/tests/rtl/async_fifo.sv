// A dual-clock FIFO: Gray-coded pointers, registered flags, registered read data.
//
// A write is accepted while `full` is low. On the read side `take` empties the output register, and
// a read is accepted while `empty` is low and the output register is, or is being, emptied.

module async_fifo #(
    parameter int DEPTH  = 16,  // entries, a power of two
    parameter int STAGES = 2,   // registers of each synchronizer
    parameter int WIDTH  = 64
) (
    input  logic             wclk,
    input  logic             wrst_n,
    input  logic             wr_en,
    input  logic [WIDTH-1:0] wr_data,
    output logic             wr_ok,
    output logic             full,

    input  logic             rclk,
    input  logic             rrst_n,
    input  logic             take,
    input  logic             rd_en,
    output logic             rd_ok,
    output logic             empty,
    output logic             valid,
    output logic [WIDTH-1:0] rd_data
);
    localparam int ADDR = $clog2(DEPTH);
    localparam logic [ADDR:0] TOP_TWO = (ADDR + 1)'(3) << (ADDR - 1);

    logic [WIDTH-1:0] ram[DEPTH];
    logic [ADDR:0] wbin, wgray, wgray_in_r;
    logic [ADDR:0] rbin, rgray, rgray_in_w;

    // Write domain.
    logic [ADDR:0] wbin_next, wgray_next;
    assign wr_ok      = wr_en && !full;
    assign wbin_next  = wbin + (ADDR + 1)'(wr_ok);
    assign wgray_next = wbin_next ^ (wbin_next >> 1);

    always_ff @(posedge wclk) if (wr_ok) ram[wbin[ADDR-1:0]] <= wr_data;

    always_ff @(posedge wclk or negedge wrst_n)
        if (!wrst_n) begin
            wbin  <= '0;
            wgray <= '0;
            full  <= 1'b0;
        end else begin
            wbin  <= wbin_next;
            wgray <= wgray_next;
            full  <= wgray_next == (rgray_in_w ^ TOP_TWO);
        end

    synchronizer #(.WIDTH(ADDR + 1), .STAGES(STAGES)) into_write (
        .clk(wclk), .rst_n(wrst_n), .d(rgray), .q(rgray_in_w)
    );

    // Read domain.
    logic [ADDR:0] rbin_next, rgray_next;
    assign rd_ok      = rd_en && !empty && (!valid || take);
    assign rbin_next  = rbin + (ADDR + 1)'(rd_ok);
    assign rgray_next = rbin_next ^ (rbin_next >> 1);

    always_ff @(posedge rclk) if (rd_ok) rd_data <= ram[rbin[ADDR-1:0]];

    always_ff @(posedge rclk or negedge rrst_n)
        if (!rrst_n) begin
            rbin  <= '0;
            rgray <= '0;
            empty <= 1'b1;
            valid <= 1'b0;
        end else begin
            rbin  <= rbin_next;
            rgray <= rgray_next;
            empty <= rgray_next == wgray_in_r;
            valid <= rd_ok || (valid && !take);
        end

    synchronizer #(.WIDTH(ADDR + 1), .STAGES(STAGES)) into_read (
        .clk(rclk), .rst_n(rrst_n), .d(wgray), .q(wgray_in_r)
    );
endmodule
