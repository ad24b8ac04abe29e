"""Verifies the accepting vectors that name their signer's key with PyJWT, and with the jose command.

usage: verify_vectors.py FOLDER; prints how many each verified, exit status 1 if one was refused.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import jwt


def vectors(folder):
    for path in sorted(pathlib.Path(folder).rglob("*.txt")):
        header, body = path.read_bytes().split(b"\n\n", 1)
        fields = dict(line.split(": ", 1) for line in header.decode().split("\n"))
        if fields["expect"] == "accept" and "key" in fields:
            yield path, json.loads(fields["key"]), body.decode()


def pyjwt(key, token):
    options = {"verify_exp": False, "verify_iat": False, "verify_nbf": False, "verify_aud": False}
    claims = jwt.decode(token, jwt.PyJWK(key, algorithm="ES256").key, algorithms=["ES256"], options=options)
    assert claims["iat"] > 0


def jose(key, token):
    with tempfile.TemporaryDirectory() as folder:
        # A file name with two dots would be taken for a token.
        jwk = pathlib.Path(folder, "key")
        jws = pathlib.Path(folder, "token")
        jwk.write_text(json.dumps(key))
        jws.write_text(token)
        command = ["jose", "jws", "ver", "-i", str(jws), "-k", str(jwk), "-O", "-"]
        payload = subprocess.run(command, check=True, capture_output=True).stdout
        assert json.loads(payload)["iat"] > 0


failed = 0
for verify in pyjwt, jose:
    count = 0
    for path, key, token in vectors(sys.argv[1]):
        try:
            verify(key, token)
            count += 1
        except Exception as error:
            failed += 1
            print(f"{verify.__name__}: {path}: {error!r}")
    print(f"{verify.__name__} {count}")
sys.exit(failed > 0)
