# Sets the header, and resolves every *.test name to loopback so that the machine's hosts file stays as it is.
# requestheaders, not request: with stream_large_bodies the request hook runs after the body has been sent.
import os
import socket

KEY = os.environ["KEY"]
resolve = socket.getaddrinfo


def to_loopback(host, *rest, **named):
    return resolve("127.0.0.1" if str(host).endswith(".test") else host, *rest, **named)


socket.getaddrinfo = to_loopback


class InjectKey:
    def requestheaders(self, flow):
        flow.request.headers["x-api-key"] = KEY


addons = [InjectKey()]
