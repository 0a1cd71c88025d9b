//! runqueue: the laws of scheduling, for traces of machines that state the facts of their threads.
//!
//! Every law is a query that gives a line per offence. Threads on one CPU at a time, masks, ready
//! threads that run in time, CPUs that are not idle beside them, dispatch from ready only, bounded lags,
//! conserved time, wakes of those who wait, real time first.

use crate::engine::{EngineError, Session};
use crate::report::{Check, CheckReport, Finding};

const FACTS: &str = include_str!("../../checks/runqueue_facts.sql");

/// Names and queries.
const LAWS: [(&str, &str); 9] = [
    ("exclusive", include_str!("../../checks/runqueue_exclusive.sql")),
    ("affinity", include_str!("../../checks/runqueue_affinity.sql")),
    ("lost-wake", include_str!("../../checks/runqueue_lost_wake.sql")),
    ("work-conserving", include_str!("../../checks/runqueue_work_conserving.sql")),
    ("dispatch", include_str!("../../checks/runqueue_dispatch.sql")),
    ("lag", include_str!("../../checks/runqueue_lag.sql")),
    ("conservation", include_str!("../../checks/runqueue_conservation.sql")),
    ("wakes", include_str!("../../checks/runqueue_wakes.sql")),
    ("real-time", include_str!("../../checks/runqueue_real_time.sql")),
];

/// Holds the laws against a trace; `None` if it states no facts of threads.
pub(crate) fn check(session: &mut Session, limit: usize) -> Result<Option<CheckReport>, EngineError> {
    let mut check = Check::new("runqueue", "threads", limit);
    session.query("runqueue facts", &format!("{FACTS} SELECT COUNT(*) FROM cfg"), |row| {
        check.rows = row.word(0)?;
        Ok::<(), EngineError>(())
    })?;
    if check.rows == 0 {
        return Ok(None);
    }
    for (name, law) in LAWS {
        session.query(name, &format!("{FACTS} {law}"), |row| -> Result<(), EngineError> {
            let what = row.text(0)?.into_owned();
            check.find(|| {
                Finding::new(format!("{name}: {what}")).hint("the machine broke a law of scheduling")
            });
            Ok(())
        })?;
    }
    Ok(Some(check.finish()))
}
