//! runqueue-…: the laws of scheduling, for traces of machines that state the facts of their threads.
//!
//! Every law is a query that gives a line per offence, and one that counts what it looked at: its reach. Threads on one
//! CPU at a time and CPUs with one thread at a time, masks, ready threads that run in time, CPUs that are not idle beside
//! them, dispatch from ready only, bounded lags, conserved time, wakes of those who wait, real time first, lags as the
//! machine states them, packets as its events say.

use crate::engine::{EngineError, Session};
use crate::report::{Check, CheckReport, Finding};

pub(super) const FACTS: &str = include_str!("../../checks/runqueue_facts.sql");
const POINTS: &str = include_str!("../../checks/runqueue_points.sql");

/// A law.
struct Law {
    name: &'static str,
    /// What its reach counts.
    unit: &'static str,
    /// Whether it is said of [`POINTS`].
    of_points: bool,
    broken: &'static str,
    /// The tables and conditions whose rows it looks at.
    reach: &'static str,
}

macro_rules! law {
    ($name:literal, $file:literal, $unit:literal, $of_points:literal, $reach:literal) => {
        Law {
            name: concat!("runqueue-", $name),
            unit: $unit,
            of_points: $of_points,
            broken: include_str!(concat!("../../checks/runqueue_", $file, ".sql")),
            reach: $reach,
        }
    };
}

const READY: &str = "thread_state s JOIN cfg USING (utid) WHERE s.state IN ('R', 'R+')";

const LAWS: [Law; 13] = [
    law!("exclusive", "exclusive", "slices", false, "sched_slice JOIN cfg USING (utid)"),
    law!("one-thread", "one_thread", "slices", false, "sched_slice"),
    law!("affinity", "affinity", "slices", false, "sched_slice JOIN cfg USING (utid)"),
    law!("lost-wake", "lost_wake", "threads", false, "cfg"),
    law!("latency", "latency", "waits", false, ""),
    law!("work-conserving", "work_conserving", "waits", false, ""),
    law!(
        "dispatch",
        "dispatch",
        "slices",
        false,
        "thread_state s JOIN cfg USING (utid) WHERE s.state = 'Running'"
    ),
    law!("lag", "lag", "points", true, "point"),
    law!("counters", "counters", "points", true, "point"),
    law!("conservation", "conservation", "slices", false, "sched_slice"),
    law!(
        "wakes",
        "wakes",
        "wakes",
        false,
        "thread_state s JOIN cfg USING (utid) WHERE s.waker_utid IS NOT NULL"
    ),
    law!(
        "real-time",
        "real_time",
        "waits",
        false,
        "thread_state s JOIN cfg USING (utid) JOIN sched_slice n ON n.utid = s.utid AND n.ts = s.ts + s.dur \
         WHERE s.state IN ('R', 'R+') AND n.priority < 100"
    ),
    law!("packets", "packets", "packets", false, "ftrace_event"),
];

/// Holds the laws against a trace; nothing if it states no facts of threads.
pub(crate) fn check(session: &mut Session, limit: usize) -> Result<Vec<CheckReport>, EngineError> {
    if count(session, "cfg", "")? == 0 {
        return Ok(Vec::new());
    }
    LAWS.iter().map(|law| law.check(session, limit)).collect()
}

fn count(session: &mut Session, rows: &str, more: &str) -> Result<u64, EngineError> {
    let mut count = 0;
    session.query("runqueue reach", &format!("{FACTS} {more} SELECT COUNT(*) FROM {rows}"), |row| {
        count = row.word(0)?;
        Ok::<(), EngineError>(())
    })?;
    Ok(count)
}

impl Law {
    fn check(&self, session: &mut Session, limit: usize) -> Result<CheckReport, EngineError> {
        let mut check = Check::new(self.name, self.unit, limit);
        let points = if self.of_points { POINTS } else { "" };
        let reach = if self.reach.is_empty() { READY } else { self.reach };
        check.rows = count(session, reach, points)?;
        let law = format!("{FACTS} {points} {}", self.broken);
        session.query(self.name, &law, |row| -> Result<(), EngineError> {
            let what = row.text(0)?.into_owned();
            check.find(|| Finding::new(what).hint("the machine broke a law of scheduling"));
            Ok(())
        })?;
        Ok(check.finish())
    }
}
