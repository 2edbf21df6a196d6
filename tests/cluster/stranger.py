"""A program outside the run that connects to the run's port; tests start it on one of their nodes.

stranger.py send HOST PORT FILE      sends the file, then waits for the end of the connection; `-` sends nothing
stranger.py drip HOST PORT FILE      does the same, a byte in a tenth of a second
stranger.py relay HOST PORT FILE     listens on any port, which it prints; forwards one connection and records the
                                     client's bytes in the file
stranger.py crowd HOST PORT COUNT    keeps that many connections, and makes those again that are closed, until it is
                                     killed; prints a line once all have been made
"""

import pathlib
import select
import socket
import sys
import threading
import time


def pass_on(source, target, kept=None):
    while data := source.recv(65536):
        if kept:
            kept.write(data)
            kept.flush()
        target.sendall(data)


def relay(address, path):
    listener = socket.create_server(("0.0.0.0", 0))
    print(listener.getsockname()[1], flush=True)
    client, _ = listener.accept()
    server = socket.create_connection(address)
    threading.Thread(target=pass_on, args=(server, client), daemon=True).start()
    with open(path, "wb") as kept:
        pass_on(client, server, kept)


def send(address, data, pause_s=0):
    peer = socket.create_connection(address, timeout=30)
    try:
        for start in range(0, len(data), 1 if pause_s else max(1, len(data))):
            peer.sendall(data[start : start + 1] if pause_s else data)
            time.sleep(pause_s)
        while peer.recv(65536):
            pass
    except (BrokenPipeError, ConnectionResetError):
        pass


def crowd(address, count):
    poll, peers = select.poll(), {}
    made = 0
    while True:
        while len(peers) < count:
            peer = socket.create_connection(address, timeout=30)
            peers[peer.fileno()] = peer
            poll.register(peer, select.POLLIN)
            made += 1
            if made == count:
                print(count, flush=True)
        for number, _ in poll.poll():
            poll.unregister(number)
            peers.pop(number).close()
        time.sleep(0.2)


def main():
    what, host, port, path = sys.argv[1:]
    address = (host, int(port))
    if what == "crowd":
        return crowd(address, int(path))
    if what == "relay":
        return relay(address, path)
    data = b"" if path == "-" else pathlib.Path(path).read_bytes()
    send(address, data, 0.1 if what == "drip" else 0)


main()
