//! rec
use clockweave_simulator::{*, scenario::*};
fn main() { let a: Vec<String> = std::env::args().collect();
 let text = builtin(&a[1]).unwrap(); let s = Scenario::parse(&text, "b").unwrap();
 let o = RecordingOptions::new(a[2].as_ref(), s.run_id());
 let o = match a.get(4).map(|x| &**x) { Some("ann") => o.args(ArgsEncoding::Annotations), Some("raw") => o.compression(Compression::None), _ => o };
 let mut sim = s.build(Some(o)).unwrap(); sim.run_batches(a[3].parse().unwrap()).unwrap(); println!("{:?}", sim.finish().unwrap().map(|s| s.events)); }
