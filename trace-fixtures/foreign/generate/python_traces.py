"""Writes the small traces of the Python producers into a folder: python_traces.py FOLDER."""

import json
import os
import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent
from perfetto.trace_builder.proto_builder import TraceProtoBuilder
from viztracer import VizTracer

SEQUENCE = 1001
TRACK, COUNTER = 1, 2


def perfetto(path):
    """The package's own builder, used as its documentation shows: names and categories in every event."""
    builder = TraceProtoBuilder()
    packet = builder.add_packet()
    packet.track_descriptor.uuid = TRACK
    packet.track_descriptor.name = "work"
    packet = builder.add_packet()
    packet.track_descriptor.uuid = COUNTER
    packet.track_descriptor.name = "depth"
    packet.track_descriptor.counter.unit_name = "entries"

    def event(ns, kind, track, **fields):
        packet = builder.add_packet()
        packet.timestamp = ns
        packet.trusted_packet_sequence_id = SEQUENCE
        packet.track_event.type = kind
        packet.track_event.track_uuid = track
        for name, value in fields.items():
            if isinstance(value, list):
                getattr(packet.track_event, name).extend(value)
            else:
                setattr(packet.track_event, name, value)

    for step in range(4):
        ns = 1000 + 100 * step
        event(ns, TrackEvent.TYPE_SLICE_BEGIN, TRACK, name="outer", categories=["app"])
        event(ns + 10, TrackEvent.TYPE_INSTANT, TRACK, name="here", flow_ids=[7])
        event(ns + 20, TrackEvent.TYPE_COUNTER, COUNTER, counter_value=step)
        event(ns + 30, TrackEvent.TYPE_SLICE_BEGIN, TRACK, name="inner", categories=["app"])
        event(ns + 40, TrackEvent.TYPE_SLICE_END, TRACK)
        event(ns + 50, TrackEvent.TYPE_SLICE_END, TRACK)
    with open(path, "wb") as out:
        out.write(builder.serialize())


def viztracer(path):
    """VizTracer writes Chrome JSON, which Trace Processor imports but which holds no packets."""

    def inner(step):
        return step * step

    def outer(step):
        return inner(step) + 1

    tracer = VizTracer(output_file=path, verbose=0, file_info=False, ignore_c_function=True)
    tracer.start()
    for step in range(4):
        outer(step)
    tracer.stop()
    tracer.save()
    # The paths of the machine that ran this are no part of a fixture.
    with open(path, encoding="utf-8") as saved:
        trace = json.load(saved)
    here = os.path.dirname(os.path.abspath(__file__))
    text = json.dumps(trace, separators=(",", ":")).replace(here + os.sep, "")
    with open(path, "w", encoding="utf-8") as out:
        out.write(text + "\n")


def main():
    folder = sys.argv[1]
    perfetto(os.path.join(folder, "python-perfetto.pftrace"))
    viztracer(os.path.join(folder, "viztracer.json"))


main()
