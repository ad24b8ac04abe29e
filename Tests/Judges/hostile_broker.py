#!/usr/bin/python3
"""usage: hostile_broker.py PORT FOLDER MODE [WORD...]

Stands where a broker should: TLS on loopback with the certificate of the site's broker (FOLDER holds broker.pem,
broker.key, ca.pem), and behind it one of

  mute             takes the connection and says nothing, not even TLS
  silent           shakes hands and never answers
  connack CODE...  one code for each connection, then the first again
  disconnect CODE...
  flood            a message of 256 MiB
  old SOCKET       knows MQTT 3.1.1 only; passes that on to the broker at the Unix socket
  bytes SOCKET     passes everything on, each byte from the broker by itself
  torn SOCKET      the same in one piece, and every connection ends in the middle of a packet
"""
import random, socket, ssl, struct, sys, threading, time

port, folder, mode, words = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{folder}/broker.pem", f"{folder}/broker.key")
context.load_verify_locations(f"{folder}/ca.pem")
context.verify_mode = ssl.CERT_REQUIRED


def exactly(source, count):
    data = b""
    while len(data) < count:
        piece = source.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def packet(source):
    head = exactly(source, 1)
    length = 0
    for shift in range(0, 28, 7):
        byte = exactly(source, 1)
        head += byte
        length |= (byte[0] & 127) << shift
        if byte[0] < 128:
            break
    return head + exactly(source, length)


def level(connect):
    name = connect.index(b"MQTT")
    return connect[name + 4]


def pass_on(client, first):
    broker = socket.socket(socket.AF_UNIX)
    broker.connect(words[0])
    broker.sendall(first)

    def up():
        try:
            while True:
                broker.sendall(packet(client))
        except (OSError, EOFError, ssl.SSLError):
            broker.close()

    threading.Thread(target=up, daemon=True).start()
    left = random.randint(0, 8000) if mode == "torn" else None
    while True:
        data = broker.recv(65536)
        if not data:
            return
        for piece in ([bytes([byte]) for byte in data] if mode == "bytes" else [data]):
            if left is not None:
                piece, left = piece[:left], left - len(piece)
            client.sendall(piece)
            if left is not None and left <= 0:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return


def answer(client, number):
    connect = packet(client)
    if mode == "silent":
        time.sleep(600)
    elif mode == "connack":
        client.sendall(bytes([0x20, 3, 0, int(words[number % len(words)]), 0]))
        time.sleep(0.2)
    elif mode == "disconnect":
        client.sendall(bytes([0x20, 3, 0, 0, 0, 0xE0, 2, int(words[number % len(words)]), 0]))
        time.sleep(0.2)
    elif mode == "flood":
        client.sendall(bytes([0x20, 3, 0, 0, 0, 0x30, 0xFF, 0xFF, 0xFF, 0x7F]))
        for _ in range(4096):
            client.sendall(bytes(65536))
    elif mode == "old" and level(connect) != 4:
        client.sendall(bytes([0x20, 2, 0, 1]))
        time.sleep(0.2)
    else:
        pass_on(client, connect)


def serve(raw, number):
    try:
        if mode == "mute":
            time.sleep(600)
        with context.wrap_socket(raw, server_side=True) as client:
            answer(client, number)
    except (OSError, EOFError, ssl.SSLError):
        pass


listener = socket.create_server(("127.0.0.1", port), backlog=16)
count = 0
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection, count), daemon=True).start()
    count += 1
