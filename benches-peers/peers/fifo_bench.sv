// `fifo`: the RTL twin of the clock-crossing FIFO between a source and a sink that are always busy.

module fifo_bench (
    input  logic        wclk,
    input  logic        rclk,
    input  logic        rst_n,
    output logic [63:0] sent,
    output logic [63:0] received,
    output logic [63:0] checksum
);
    logic wr_ok, valid;
    logic [63:0] cycle, value;
    /* verilator lint_off UNUSEDSIGNAL */
    logic full, empty, rd_ok;
    /* verilator lint_on UNUSEDSIGNAL */

    async_fifo #(.DEPTH(16), .STAGES(2)) fifo (
        .wclk(wclk), .wrst_n(rst_n), .wr_en(1'b1), .wr_data(sent + 64'd1), .wr_ok(wr_ok), .full(full),
        .rclk(rclk), .rrst_n(rst_n), .take(1'b1), .rd_en(1'b1), .rd_ok(rd_ok), .empty(empty),
        .valid(valid), .rd_data(value)
    );

    always_ff @(posedge wclk or negedge rst_n)
        if (!rst_n) sent <= '0;
        else if (wr_ok) sent <= sent + 64'd1;

    always_ff @(posedge rclk or negedge rst_n)
        if (!rst_n) begin
            cycle    <= '0;
            received <= '0;
            checksum <= '0;
        end else begin
            cycle <= cycle + 64'd1;
            if (valid) begin
                received <= received + 64'd1;
                checksum <= checksum * 64'd6364136223846793005 + (value ^ (cycle << 32));
            end
        end
endmodule
