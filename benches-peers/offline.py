#!/usr/bin/env python3
"""Readings of `clockweave merge` and `recover` beside other programs on the same job, in CPU time.

    cargo build --release -p clockweave && pip install duckdb
    python3 benches-peers/offline.py                  # the tables
    python3 benches-peers/offline.py large            # a run far larger than the memory it may take

The job of merging: the logs of two clocks, 914 MHz and 1326 MHz + 137 ps, four units each, become one table in
the order of exact time, phase, domain id, unit name, ordinal, with the time as a reduced ratio and in ns. Logs
are in that order already, or unit after unit in blocks. Whoever does the whole job has to write the same bytes,
which is checked; `sort -m` and `sort` get the time as an integer in a column of its own, made beforehand, and
write neither ratio nor ns. Programs take turns, round by round; each reading is a process of its own. `cat` of the
logs is the yardstick of reading and writing alone.
"""

import argparse
import heapq
import importlib.metadata
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLOCKS = [("sm", 1, 914_000_000, Fraction(0)), ("lts", 2, 1_326_000_000, Fraction(137, 10**12))]
UNITS = 4
HEADER = "time_num\ttime_den\tts\tdomain_id\tunit\tlocal_cycle\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal\n"
COLUMNS = "# local_cycle\tunit_id\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal\n"
# All edges are whole multiples of 1 / LATTICE seconds.
LATTICE = 10**12 * 457 * 663


def unit_name(unit_id):
    return f"unit{unit_id}"


def lines_of(domain_id, cycles, unit):
    """The events of one unit of a domain in the given cycles: two per cycle, of phase 0 and 1."""
    unit_id = (domain_id - 1) * UNITS + unit + 1
    return [
        f"{cycle}\t{unit_id}\tfifo.write\t{phase}\t{cycle}\t{unit}\t{cycle * 40503 % 65536}\t{2 * cycle + phase}\n"
        for cycle in cycles
        for phase in (0, 1)
    ]


def write_run(folder, events, ordered, keyed=None):
    """A run of about `events` events; with `keyed`, also logs whose first column is the time on the lattice."""
    folder.mkdir(parents=True)
    streams, domains = [], []
    for name, domain_id, hertz, phase in CLOCKS:
        domains.append(
            {"id": domain_id, "name": name, "period_num": 1, "period_den": hertz, "phase_num": phase.numerator, "phase_den": phase.denominator}
        )
        for unit in range(UNITS):
            unit_id = (domain_id - 1) * UNITS + unit + 1
            streams.append({"unit_id": unit_id, "unit": unit_name(unit_id), "domain_id": domain_id, "sequence": 2, "track": unit_id, "producer_order": 0})
        cycles = events // (len(CLOCKS) * UNITS * 2)
        with open(folder / f"text-domain-{name}.log", "w") as log:
            log.write(f"# run=offline domain={name}\n{COLUMNS}")
            for begin in range(0, cycles, 1000):
                block = range(begin, min(begin + 1000, cycles))
                units = [lines_of(domain_id, block, unit) for unit in range(UNITS)]
                if ordered:
                    at = range(0, len(units[0]), 2)
                    units = [[units[u][i + p] for i in at for p in (0, 1) for u in range(UNITS)]]
                for lines in units:
                    log.write("".join(lines))
        if keyed:
            keyed.mkdir(parents=True, exist_ok=True)
            period, first = LATTICE // hertz, int(phase * LATTICE)
            with open(folder / f"text-domain-{name}.log") as log, open(keyed / name, "w") as out:
                for line in log:
                    if not line.startswith("#"):
                        cycle, unit_id, rest = line.split("\t", 2)
                        out.write(f"{first + period * int(cycle)}\t{domain_id}\t{unit_name(int(unit_id))}\t{cycle}\t{rest}")
    manifest = {
        "version": 1, "run_id": "offline", "time_unit": "rational seconds", "perfetto_unit": "ns (floor)", "lossless": True,
        "stream_capacity": 4096, "domains": domains, "streams": streams, "events": {"1": "fifo.write"},
    }
    (folder / "clock-manifest.json").write_text(json.dumps(manifest))


def generate(folder, events, ordered, keyed=None):
    """A run written by another process: the peak memory of a reading is at least that of the process it was forked from."""
    words = [sys.executable, __file__, "generate", str(folder), str(events), "ordered" if ordered else "unordered"]
    subprocess.run([*words, *([str(keyed)] if keyed else [])], check=True)


def merge_by_rationals(folder, ordered):
    """The definition of the merge, in Python's exact rationals; to stdout."""
    manifest = json.loads((Path(folder) / "clock-manifest.json").read_text())
    names = {stream["unit_id"]: stream["unit"] for stream in manifest["streams"]}

    def rows(domain):
        period = Fraction(domain["period_num"], domain["period_den"])
        phase = Fraction(domain["phase_num"], domain["phase_den"])
        with open(Path(folder) / f"text-domain-{domain['name']}.log") as log:
            for line in log:
                if not line.startswith("#"):
                    cells = line.rstrip("\n").split("\t")
                    time = phase + period * int(cells[0])
                    yield (time, int(cells[3]), domain["id"], names[int(cells[1])], int(cells[7])), cells

    parts = [rows(domain) for domain in manifest["domains"]]
    merged = heapq.merge(*parts) if ordered else sorted(row for part in parts for row in part)
    out = sys.stdout
    out.write(HEADER)
    for (time, _, domain, unit, _), cells in merged:
        ns = time.numerator * 10**9 // time.denominator
        out.write(f"{time.numerator}\t{time.denominator}\t{ns}\t{domain}\t{unit}\t{cells[0]}\t" + "\t".join(cells[2:]) + "\n")


def merge_by_duckdb(folder, output, memory):
    """The same job in SQL, on one thread."""
    import duckdb

    database = duckdb.connect()
    database.execute(f"SET threads = 1; SET memory_limit = '{memory}'; SET temp_directory = '{folder}/spill'; SET preserve_insertion_order = false")
    columns = "{'local_cycle': 'BIGINT', 'unit_id': 'BIGINT', 'event': 'VARCHAR', 'phase': 'BIGINT', 'transaction_id': 'UBIGINT', 'fifo_id': 'UBIGINT', 'value': 'UBIGINT', 'ordinal': 'UBIGINT'}"
    parts = [
        f"SELECT local_cycle * {LATTICE // hertz} + {int(phase * LATTICE)} AS tick, {domain} AS domain_id, * "
        f"FROM read_csv('{folder}/text-domain-{name}.log', delim = '\t', header = false, skip = 2, quote = '', columns = {columns})"
        for name, domain, hertz, phase in CLOCKS
    ]
    database.execute(
        f"COPY (SELECT tick // gcd(tick, {LATTICE}) AS time_num, {LATTICE} // gcd(tick, {LATTICE}) AS time_den, "
        f"(tick::HUGEINT * 1000000000 // {LATTICE})::BIGINT AS ts, domain_id, 'unit' || unit_id AS unit, local_cycle, event, phase, "
        f"transaction_id, fifo_id, value, ordinal FROM ({' UNION ALL '.join(parts)}) "
        f"ORDER BY tick, phase, domain_id, unit, ordinal) TO '{output}' (FORMAT csv, DELIMITER '\t', HEADER, QUOTE '')"
    )


def run(words, output=None, environment=None):
    """CPU seconds and peak memory in MiB of a process."""
    with open(output or os.devnull, "wb") as out:
        child = subprocess.Popen(words, stdout=out, env={**os.environ, **(environment or {})})
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{words}: exit code {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def digest(path):
    return subprocess.run(["sha256sum", path], check=True, capture_output=True, text=True).stdout.split()[0]


class Bench:
    """Readings of several programs that take turns."""

    def __init__(self, rounds):
        self.rounds, self.programs = rounds, {}

    def add(self, name, words, output=None, environment=None):
        self.programs[name] = (words, output, environment, [])

    def read(self):
        for _ in range(self.rounds):
            for words, output, environment, readings in self.programs.values():
                readings.append(run(words, output, environment))

    def rows(self, amount, unit):
        for name, (_, _, _, readings) in self.programs.items():
            seconds = sorted(seconds for seconds, _ in readings)
            median, peak = statistics.median(seconds), max(memory for _, memory in readings)
            yield f"| {name} | {amount / median / 1e6:.2f} {unit} | {median:.2f} | {seconds[0]:.2f} to {seconds[-1]:.2f} | {peak:.0f} |"


HEAD = "| program | throughput | CPU s, median | least to greatest | peak memory, MiB |\n| --- | ---: | ---: | ---: | ---: |"


def merging(arguments, place, ordered):
    name = "ordered" if ordered else "unordered"
    folder, keyed = place / name, place / f"{name}-keyed"
    generate(folder, arguments.events, ordered, keyed)
    logs = [str(folder / f"text-domain-{clock[0]}.log") for clock in CLOCKS]
    events = sum(1 for log in logs for line in open(log) if not line.startswith("#"))
    size = sum(os.path.getsize(log) for log in logs)
    bench, this = Bench(arguments.rounds), [sys.executable, __file__]
    outputs = {program: str(place / f"{name}-{program}") for program in ("clockweave", "python", "duckdb")}
    bench.add("`cat`", ["cat", *logs], str(place / "cat"))
    bench.add("clockweave merge", [arguments.clockweave, "-q", "merge", str(folder), "--temp-dir", str(place)], outputs["clockweave"])
    keys = ["-k1,1n", "-k6,6n", "-k2,2n", "-k3,3", "-k10,10n"]
    how = ["-m"] if ordered else []
    sort = ["sort", *how, "--parallel=1", "-S", "256M", "-T", str(place), "-t", "\t", *keys, *[str(keyed / clock[0]) for clock in CLOCKS]]
    label = "GNU `sort -m`" if ordered else "GNU `sort`"
    bench.add(f"{label}, time given as an integer", sort, str(place / "sorted"), {"LC_ALL": "C"})
    try:
        version = importlib.metadata.version("duckdb")
        bench.add(f"DuckDB {version}, 1 thread", [*this, "duckdb", str(folder), outputs["duckdb"], "256MB"])
    except importlib.metadata.PackageNotFoundError:
        outputs.pop("duckdb")
        print("DuckDB is absent: pip install duckdb", file=sys.stderr)
    bench.add("Python, `fractions` and `heapq`" if ordered else "Python, `fractions` and `sorted`", [*this, "python", str(folder), name], outputs["python"])
    bench.read()
    if len({digest(output) for output in outputs.values()}) != 1:
        sys.exit(f"the programs do not agree: {outputs}")
    print(f"\n{name}: {events:,} events in {len(logs)} logs, {size / 1e6:.1f} MB\n\n{HEAD}")
    print("\n".join(bench.rows(events, "M events/s")))


def recovering(arguments, place):
    traces = {}
    for compress in ("none", "deflate"):
        folder = place / compress
        batches = str(arguments.events * 2 // 5)
        words = [arguments.clockweave, "-q", "record", "fifo", "--batches", batches, "--trace", "perfetto", "--compress", compress, "-o", str(folder)]
        subprocess.run(words, check=True)
        traces[compress] = folder / "timeline.pftrace"
    for compress, trace in traces.items():
        size, bench = os.path.getsize(trace), Bench(arguments.rounds)
        bench.add("`cat`", ["cat", str(trace)], str(place / "cat"))
        for flags in ([], ["--salvage"]):
            words = [arguments.clockweave, "-q", "recover", *flags, "--force", "-o", str(place / "recovered"), str(trace)]
            bench.add(" ".join(["clockweave recover", *flags]), words)
        bench.read()
        if digest(place / "recovered") != digest(trace):
            sys.exit("a whole trace is not recovered as it is")
        print(f"\nrecover, {compress}: {size / 1e6:.1f} MB\n\n{HEAD}")
        print("\n".join(bench.rows(size, "MB/s")))


def large(arguments, place):
    folder = place / "large"
    generate(folder, arguments.large_events, False)
    size = sum(os.path.getsize(folder / f"text-domain-{clock[0]}.log") for clock in CLOCKS)
    print(f"\nunordered: {arguments.large_events:,} events, {size / 1e6:.0f} MB of logs\n")
    print("| --memory | peak memory, MiB | CPU s | M events/s |\n| ---: | ---: | ---: | ---: |")
    for memory in ("256MiB", "32MiB"):
        seconds, peak = run([arguments.clockweave, "-q", "merge", str(folder), "--memory", memory, "--temp-dir", str(place)])
        print(f"| {memory} | {peak:.0f} | {seconds:.1f} | {arguments.large_events / seconds / 1e6:.2f} |")


def main():
    if sys.argv[1:2] == ["generate"]:
        folder, events, order, *keyed = sys.argv[2:]
        return write_run(Path(folder), int(events), order == "ordered", *map(Path, keyed))
    if sys.argv[1:2] == ["python"]:
        return merge_by_rationals(sys.argv[2], sys.argv[3] == "ordered")
    if sys.argv[1:2] == ["duckdb"]:
        return merge_by_duckdb(*sys.argv[2:5])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["merge", "recover"], help="of merge, recover, large")
    parser.add_argument("--events", type=int, default=1_200_000)
    parser.add_argument("--large-events", type=int, default=30_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--clockweave", default=str(target / "release/clockweave"))
    arguments = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="clockweave-offline-"))
    try:
        if "merge" in arguments.what:
            merging(arguments, place, ordered=True)
            merging(arguments, place, ordered=False)
        if "recover" in arguments.what:
            recovering(arguments, place)
        if "large" in arguments.what:
            large(arguments, place)
    finally:
        shutil.rmtree(place)


main()
