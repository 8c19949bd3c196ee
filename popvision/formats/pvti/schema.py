"""The tables of a .pvti file.

Times are int64 nanoseconds since the Unix epoch: a monotonic clock, anchored to the wall clock once per process
(`meta.clock_offset_ns`), so that they never run backwards. All blobs are little-endian.

```
parts         rows and checksum of each table, by its name; a table that has no row here is empty. Since version 1.1
meta          format, version, run_id, clock_offset_ns, state ('recording', 'closed', 'finalised'), producer, ...
strings       text of labels and metadata, each once
processes     one row: a file belongs to one process
threads       tid is the operating system's thread id
channels      enabled: its state when the channel was made or last switched
sites         names of events: channel, label, JSON metadata or NULL
raw_chunks    the journal of a thread: n codes, then n monotonic times in ns, int64; code = site << 2 | kind
              kind 0 begin, 1 end, 2 instant; empty once the file is finalised
slices        nested events, one row per run of n events of one lane; a lane is (thread, depth): its events never
              overlap. start_ns i8, duration_ns, site, parent: columns as wide as (length of blob) / n says, unsigned.
              parent is the position of the enclosing event in the lane above; 0 in lane 0
instants      events without duration, one row per run of n; depth = number of events open around it,
              parent = position of the innermost of these in lane depth - 1
unfinished    slices that were begun and never ended, cut at the last event of their thread
graphs, series, samples      line graphs; samples hold n times (i8) and n values (f8)
flows, flow_points           only where a program used flows: a flow leads from event to event, on any thread; a point
              is a moment inside the event that is the next one of its flow
heatmaps, HEATMAP_DATA       edges (f8); one row per column: bin_quantities as in `bins`
```

A crc column is crc32 over the blobs of its row, in the order of the columns, begun with the crc32 of the columns before
it (with 0 before version 1.1). `parts.crc` is the sum, modulo 2^32, of the crc32 of the rows of a table without the
blobs that a crc column covers, so that a row is added or replaced without a look at the others. The crc32 of values is
that of their text: each followed by a NUL; a number in decimal, a text behind an apostrophe, NULL as nothing, a blob as
its own crc32 behind an x. Rows that have ids and a crc column are numbered from 1 without a gap.
"""

from __future__ import annotations

FORMAT = "pvti"
MAJOR, MINOR = 1, 1
APPLICATION_ID = 0x50565449
"""'PVTI' in the header of the SQLite file, so that `file` and other tools can tell it apart."""

BEGIN, END, INSTANT = 0, 1, 2
KIND_BITS = 2
"""Low bits of a journal code that hold the kind of event."""

MAX_DEPTH = 16384
"""Open events per thread; one more closes them all as unfinished, so that forgotten ends cannot grow without bound."""

CHUNK_EVENTS = 8192
"""Events in a chunk of the journal at most."""

TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE strings(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE processes(id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, parent_pid INTEGER, name TEXT NOT NULL);
CREATE TABLE threads(id INTEGER PRIMARY KEY, process INTEGER NOT NULL REFERENCES processes, tid INTEGER NOT NULL,
                     name TEXT NOT NULL);
CREATE TABLE channels(id INTEGER PRIMARY KEY, name TEXT NOT NULL, enabled INTEGER NOT NULL);
CREATE TABLE sites(id INTEGER PRIMARY KEY, channel INTEGER NOT NULL REFERENCES channels,
                   label INTEGER NOT NULL REFERENCES strings, metadata INTEGER REFERENCES strings);
CREATE TABLE raw_chunks(id INTEGER PRIMARY KEY, thread INTEGER NOT NULL REFERENCES threads, n INTEGER NOT NULL,
                        t_min INTEGER NOT NULL, t_max INTEGER NOT NULL, crc INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE slices(id INTEGER PRIMARY KEY, thread INTEGER NOT NULL REFERENCES threads, depth INTEGER NOT NULL,
                    n INTEGER NOT NULL, t_min INTEGER NOT NULL, t_max INTEGER NOT NULL, crc INTEGER NOT NULL,
                    start_ns BLOB NOT NULL, duration_ns BLOB NOT NULL, site BLOB NOT NULL, parent BLOB NOT NULL);
CREATE TABLE instants(id INTEGER PRIMARY KEY, thread INTEGER NOT NULL REFERENCES threads, n INTEGER NOT NULL,
                      t_min INTEGER NOT NULL, t_max INTEGER NOT NULL, crc INTEGER NOT NULL,
                      time_ns BLOB NOT NULL, site BLOB NOT NULL, depth BLOB NOT NULL, parent BLOB NOT NULL);
CREATE TABLE unfinished(thread INTEGER NOT NULL, depth INTEGER NOT NULL, position INTEGER NOT NULL,
                        PRIMARY KEY(thread, depth, position)) WITHOUT ROWID;
CREATE TABLE graphs(id INTEGER PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL);
CREATE TABLE series(id INTEGER PRIMARY KEY, graph INTEGER NOT NULL REFERENCES graphs, name TEXT NOT NULL);
CREATE TABLE samples(id INTEGER PRIMARY KEY, series INTEGER NOT NULL REFERENCES series, n INTEGER NOT NULL,
                     crc INTEGER NOT NULL, time_ns BLOB NOT NULL, value BLOB NOT NULL);
CREATE TABLE heatmaps(id INTEGER PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL, edges BLOB NOT NULL);
CREATE TABLE HEATMAP_DATA(id INTEGER PRIMARY KEY, heatmap INTEGER NOT NULL REFERENCES heatmaps,
                          time_ns INTEGER NOT NULL, crc INTEGER NOT NULL, bin_quantities BLOB NOT NULL);
"""

PARTS_TABLE = """
CREATE TABLE parts(name TEXT PRIMARY KEY, rows INTEGER NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
"""
"""Apart from TABLES: files of version 1.0 lack it."""

FLOW_TABLES = """
CREATE TABLE IF NOT EXISTS flows(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS flow_points(id INTEGER PRIMARY KEY, flow INTEGER NOT NULL REFERENCES flows,
                                       thread INTEGER NOT NULL REFERENCES threads, time_ns INTEGER NOT NULL);
"""
"""Made at the first flow of a file: most files have none."""

CHECKED = {
    "meta": ("key", "value"),
    "strings": ("id", "text"),
    "processes": ("id", "pid", "parent_pid", "name"),
    "threads": ("id", "process", "tid", "name"),
    "channels": ("id", "name", "enabled"),
    "sites": ("id", "channel", "label", "metadata"),
    "raw_chunks": ("id", "thread", "n", "t_min", "t_max", "crc"),
    "slices": ("id", "thread", "depth", "n", "t_min", "t_max", "crc"),
    "instants": ("id", "thread", "n", "t_min", "t_max", "crc"),
    "unfinished": ("thread", "depth", "position"),
    "graphs": ("id", "name", "unit"),
    "series": ("id", "graph", "name"),
    "samples": ("id", "series", "n", "crc"),
    "heatmaps": ("id", "name", "unit", "edges"),
    "HEATMAP_DATA": ("id", "heatmap", "time_ns", "crc"),
    "flows": ("id", "name"),
    "flow_points": ("id", "flow", "thread", "time_ns"),
}
"""The columns of each table that its row in `parts` covers."""

BLOBS = {
    "raw_chunks": ("data",),
    "slices": ("start_ns", "duration_ns", "site", "parent"),
    "instants": ("time_ns", "site", "depth", "parent"),
    "samples": ("time_ns", "value"),
    "HEATMAP_DATA": ("bin_quantities",),
}
"""The columns that the column crc of their row covers, after those in CHECKED."""
