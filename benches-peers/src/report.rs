//! The table on standard output.

use crate::outcome::Measured;
use crate::workload::Workload;

/// All readings of one simulator on one workload.
pub struct Row {
    /// Who simulated.
    pub who: &'static str,
    /// What was simulated.
    pub workload: Workload,
    /// One reading for each round.
    pub readings: Vec<Measured>,
    /// Whether the result was right.
    pub right: bool,
}

impl Row {
    /// Least, median and greatest ns for each batch or unit tick, to be printed.
    fn summary(&self, batches: u64) -> [f64; 3] {
        let (count, _) = self.workload.per(batches);
        let mut all: Vec<u64> = self.readings.iter().map(|reading| reading.cpu_ns).collect();
        all.sort_unstable();
        [all[0], all[all.len() / 2], all[all.len() - 1]].map(|ns| ns as f64 / count as f64)
    }
}

/// Prints the rows as a Markdown table.
pub fn print(rows: &[Row], batches: u64) {
    println!("| workload | simulator | CPU ns, median | least to greatest | per | result |");
    println!("| --- | --- | ---: | ---: | --- | --- |");
    for row in rows {
        let [least, median, greatest] = row.summary(batches);
        let (workload, who, per) = (row.workload.name(), row.who, row.workload.per(batches).1);
        let result = if row.right { "right" } else { "wrong" };
        println!("| `{workload}` | {who} | {median:.1} | {least:.1} to {greatest:.1} | {per} | {result} |");
    }
}
