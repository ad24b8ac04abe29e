#!/usr/bin/env python3
"""usage: verify.py root.jwk CREDENTIAL REPORT     (what the broker keeps on …/keys and on …/report)"""
import json, sys, jwt  # PyJWT

root, credential, report = (open(name).read().strip() for name in sys.argv[1:4])
claims = lambda token, jwk: jwt.decode(token, jwt.PyJWK.from_dict(jwk | {"alg": "ES256"}).key, algorithms=["ES256"])
named = jwt.decode(credential, options={"verify_signature": False})["issuer"]  # not believed before the next line
issuer = claims(named, json.loads(root))
device = claims(credential, issuer["cnf"]["jwk"])
said = claims(report, device["cnf"]["jwk"])
assert issuer["role"] == "issuer" and device["role"] == "device" and said["iss"] == device["sub"]
print(said["iss"], said["verdict"], "by policy", said["policy"]["name"], dict(said["measres"][0][1]))
