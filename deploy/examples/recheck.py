#!/usr/bin/env python3
"""usage: recheck.py controller.key SITE DEVICE     prints a command for posture/v1/SITE/d/DEVICE/cmd/recheck"""
import hashlib, json, secrets, sys, time, jwt  # PyJWT
from cryptography.hazmat.primitives.serialization import load_pem_private_key

key = load_pem_private_key(open(sys.argv[1], "rb").read(), None)
jwk = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
kid = hashlib.sha256(json.dumps({k: jwk[k] for k in ("crv", "kty", "x", "y")}, separators=(",", ":")).encode()).digest()
now, site = int(time.time()), "urn:posture:" + sys.argv[2]
claims = {"cmd": "recheck", "iss": site + ":controller", "aud": f"{site}:{sys.argv[3]}", "iat": now, "exp": now + 120,
          "jti": secrets.token_urlsafe(16), "nonce": secrets.token_urlsafe(16)}
print(jwt.encode(claims, key, "ES256", {"typ": "posture-cmd+jwt", "kid": jwt.utils.base64url_encode(kid).decode()}))
