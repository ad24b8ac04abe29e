#!/usr/bin/env python3
"""Gives a LUKS volume an empty passphrase, which no command line takes, through libcryptsetup.

usage: empty_passphrase.py add IMAGE PASSPHRASE | try IMAGE
`add` makes a slot beside the one that PASSPHRASE opens; `try` exits with 0 where the empty passphrase opens one, else 1.
"""
import ctypes, sys

CRYPT = ctypes.CDLL("libcryptsetup.so.12")
NO_BENCHMARK = 1 << 1


class Stretching(ctypes.Structure):
    """struct crypt_pbkdf_type"""
    _fields_ = [("type", ctypes.c_char_p), ("hash", ctypes.c_char_p), ("time_ms", ctypes.c_uint32),
                ("iterations", ctypes.c_uint32), ("memory", ctypes.c_uint32), ("threads", ctypes.c_uint32),
                ("flags", ctypes.c_uint32)]


def main(verb, image, passphrase=""):
    device = ctypes.c_void_p()
    assert CRYPT.crypt_init(ctypes.byref(device), image.encode()) == 0
    assert CRYPT.crypt_load(device, None, None) == 0
    if verb == "try":
        return 0 if CRYPT.crypt_activate_by_passphrase(device, None, -1, b"", ctypes.c_size_t(0), 0) >= 0 else 1
    least = Stretching(b"pbkdf2", b"sha512", 0, 1000, 0, 0, NO_BENCHMARK)
    assert CRYPT.crypt_set_pbkdf_type(device, ctypes.byref(least)) == 0
    old = passphrase.encode()
    slot = CRYPT.crypt_keyslot_add_by_passphrase(device, -1, old, ctypes.c_size_t(len(old)), b"", ctypes.c_size_t(0))
    return 0 if slot >= 0 else 1


sys.exit(main(*sys.argv[1:]))
