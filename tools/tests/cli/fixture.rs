//! Small runs and traces written by hand.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

pub(crate) const MANIFEST: &str = r##"{"version":1,"run_id":"hand","time_unit":"rational seconds","perfetto_unit":"ns (floor)",
"lossless":true,"stream_capacity":4096,
"domains":[{"id":1,"name":"sm","period_num":1,"period_den":914000000,"phase_num":0,"phase_den":1},
{"id":2,"name":"lts","period_num":2,"period_den":2652000000,"phase_num":137,"phase_den":1000000000000}],
"streams":[{"unit_id":1,"unit":"producer","domain_id":1,"sequence":2,"track":11,"producer_order":0},
{"unit_id":2,"unit":"consumer","domain_id":2,"sequence":3,"track":12,"producer_order":0},
{"unit_id":2,"unit":"consumer","domain_id":2,"sequence":4,"track":12,"producer_order":2}],
"events":{"1":"fifo.write","2":"fifo.visible","256":"user"}}"##;

const SM: &str = "# run=hand domain=sm\n\
# local_cycle\tunit_id\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal\n\
0\t1\tfifo.write\t1\t1\t1\t0\t0\n\
1\t1\tfifo.write\t1\t2\t1\t0\t1\n\
2\t1\tuser\t0\t0\t0\t18446744073709551615\t2\n";

const LTS: &str = "# run=hand domain=lts\n\
#local_cycle\tunit_id\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal\n\
0\t2\tuser\t0\t0\t0\t5\t0\n\
1\t2\tuser\t1\t0\t0\t6\t1\n\
2\t2\tfifo.visible\t1\t1\t1\t0\t2\n";

/// What merging [`run`] gives, worked out by hand: edge n of `sm` is at n / 914 MHz, of `lts` at
/// n / 1326 MHz + 137 ps, which is (n * 500,000 + 90,831) / 663,000,000,000,000 s.
pub(crate) const MERGED: &str = "\
time_num\ttime_den\tts\tdomain_id\tunit\tlocal_cycle\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal\n\
0\t1\t0\t1\tproducer\t0\tfifo.write\t1\t1\t1\t0\t0\n\
137\t1000000000000\t0\t2\tconsumer\t0\tuser\t0\t0\t0\t5\t0\n\
590831\t663000000000000\t0\t2\tconsumer\t1\tuser\t1\t0\t0\t6\t1\n\
1\t914000000\t1\t1\tproducer\t1\tfifo.write\t1\t2\t1\t0\t1\n\
1090831\t663000000000000\t1\t2\tconsumer\t2\tfifo.visible\t1\t1\t1\t0\t2\n\
1\t457000000\t2\t1\tproducer\t2\tuser\t0\t0\t0\t18446744073709551615\t2\n";

/// Writes the run directory of two clocks with three events each.
pub(crate) fn run(at: &Path) {
    fs::create_dir_all(at).unwrap();
    fs::write(at.join("clock-manifest.json"), MANIFEST).unwrap();
    fs::write(at.join("text-domain-sm.log"), SM).unwrap();
    fs::write(at.join("text-domain-lts.log"), LTS).unwrap();
}

/// The same with `events` events in each log; unordered if asked for.
pub(crate) fn long_run(at: &Path, events: u64, ordered: bool) {
    run(at);
    for (domain, unit) in [("sm", 1), ("lts", 2)] {
        let mut log = format!(
            "# run=hand domain={domain}\n\
             # local_cycle\tunit_id\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal\n"
        );
        for n in 0..events {
            // Within one edge phase 1 comes first in the file where it is to be sorted.
            let phase = if ordered { n % 2 } else { (n + 1) % 2 };
            writeln!(log, "{}\t{unit}\tuser\t{phase}\t0\t0\t{n}\t{n}", n / 2).unwrap();
        }
        fs::write(at.join(format!("text-domain-{domain}.log")), log).unwrap();
    }
}

/// Three packets of one sequence, 4 bytes each.
pub(crate) const RAW_TRACE: [u8; 12] = [0x0a, 2, 0x50, 2, 0x0a, 2, 0x50, 2, 0x0a, 2, 0x50, 2];
