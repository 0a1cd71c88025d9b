-- Theorem 1 of Stoica and Abdel-Wahab at both levels, for threads that compute all the time on one CPU, in service times
-- the sum of the weights: -r < lag < max(r, q).
SELECT who || ' lags by ' || (lag / total) || ' ns at ' || ends || ' ns' FROM point
WHERE lag <= -r * total OR lag >= MAX(r, q) * total
