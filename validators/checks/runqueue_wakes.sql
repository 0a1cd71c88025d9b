SELECT 'a wake at ' || ts || ' ns found its thread not waiting' FROM spurious_sched_wakeup
