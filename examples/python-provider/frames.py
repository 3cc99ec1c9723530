"""Between supervisor and worker: one line a message, with a number in front that tells answers apart.

    to the worker     <number> <the JSON-RPC request as it came>
    to the supervisor <number> + <JSON of the result>     or     <number> - <JSON of the error>

The number spares the supervisor from parsing answers: it puts the id of the request around them and passes them on.
JSON holds no line break outside of its strings' escapes, so a line is a message.  A line without its end is what a
process was writing when it was killed, and is no message.
"""

import os

READY = 0  # the worker's first frame: it is there, and an end from here on is no failure to start
STOP = 0  # the supervisor's last frame: end politely


def request(number, line):
    return b"%d %s\n" % (number, line)


def read_all(stream):
    """(number, body) of every complete frame up to the end of the stream."""
    for line in stream:
        if line.endswith(b"\n"):
            number, _, body = line[:-1].partition(b" ")
            yield int(number), body


def write(descriptor, number, succeeded, body):
    write_all(descriptor, b"%d %s%s\n" % (number, b"+" if succeeded else b"-", body))


def write_all(descriptor, data):
    """A pipe takes what it has room for; the rest follows."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
