SELECT 'thread ' || cfg.name || ' runs on CPU ' || s.ucpu || ' at ' || s.ts || ' ns, outside its mask ' || cfg.mask
FROM sched_slice s JOIN cfg USING (utid) WHERE (cfg.mask >> s.ucpu) & 1 = 0
