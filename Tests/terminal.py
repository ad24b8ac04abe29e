"""Runs a program on a terminal of its own: terminal.py COLUMNS ROWS SECONDS KEYS PROGRAM [WORDS...]. Each of KEYS is pressed
one second after the other, from the third second on; what the program wrote is printed as it is. Status: the program's, or 124."""
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

columns, rows, seconds, keys = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), list(sys.argv[4])
pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    # The size is set before the program looks.
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.execv(sys.argv[5], sys.argv[5:])
end = time.monotonic() + seconds
next_key = time.monotonic() + 3
while time.monotonic() < end:
    if keys and time.monotonic() >= next_key:
        os.write(terminal, keys.pop(0).encode())
        next_key += 1
    if select.select([terminal], [], [], 0.1)[0]:
        try:
            text = os.read(terminal, 65536)
        except OSError:
            break
        sys.stdout.buffer.write(text)
        sys.stdout.flush()
for _ in range(30):
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        sys.exit(os.waitstatus_to_exitcode(status))
    time.sleep(0.1)
os.kill(pid, 9)
os.waitpid(pid, 0)
sys.exit(124)
