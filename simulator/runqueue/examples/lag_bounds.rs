//! How far lags go in situations that the theorem covers and in those it does not.
//!
//! Prints, as thousandths of a request, the extremes over 60 schedules of 1,500 decisions.

#[path = "../tests/properties/lag.rs"]
mod lag;
#[path = "../tests/differential/random.rs"]
mod random;

use lag::{Situation, equal, mixed};

type Weights = fn(&mut random::Random) -> u64;

fn main() {
    println!("situation\tweights\tleast lag / r_max\tmost lag / max(r_max, q)");
    for situation in [
        Situation::Steady,
        Situation::Overrun,
        Situation::Carried,
        Situation::Forgotten,
        Situation::AnyLeaver,
    ] {
        let weights: [(&str, Weights); 2] = [("equal", equal), ("mixed", mixed)];
        for (name, weights) in weights {
            let runs = (0..60).map(|seed| lag::run(seed, 1_500, situation, weights));
            let (least, most) =
                runs.fold((0, 0), |(least, most), run| (run.least.min(least), run.most.max(most)));
            println!("{situation:?}\t{name}\t{least}\t{most}");
        }
    }
}
