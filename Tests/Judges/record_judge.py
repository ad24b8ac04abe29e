#!/usr/bin/python3
"""usage: record_judge.py RECORD DEVICE CREDENTIAL

Reads what a broker wrote down of one device (broker_record.c) and says, as one JSON object, what it holds and what in it
must not be: forged tokens, one number with two contents, events that are missing, out of order or do not follow from
each other, reports whose chain is not the chain that was sent. It shares no code with the agent.
"""
import base64, collections, hashlib, json, sys

import jwt

KINDS = {
    "report": {"eat+jwt"}, "event": {"posture-event+jwt"}, "presence": {"posture-presence+jwt"},
    "reply": {"eat+jwt", "posture-progress+jwt", "posture-refusal+jwt"}, "keys": {"posture-credential+jwt"},
}


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def digest(token):
    return base64.urlsafe_b64encode(hashlib.sha256(decode(token.split(".")[1])).digest()).rstrip(b"=").decode()


class Judge:
    def __init__(self, device, key):
        self.device, self.key = device, key
        self.faults, self.counts = [], collections.Counter()
        self.reports, self.last_report, self.last_sequence = {}, None, 0
        self.heads = []
        self.chains = collections.OrderedDict()  # id -> {number: (digest, claims)}
        self.newest = {}
        self.connection, self.birth = 0, None
        self.accepted, self.nonces, self.refused = set(), set(), set()

    def fault(self, text):
        self.faults.append(text)

    def take(self, line):
        words = line.rstrip("\n").split(" ", 5)
        if len(words) != 6:
            return self.fault(f"a line of {len(words)} words")
        topic, payload = words[4], words[5]
        parts = topic.split("/")
        if len(parts) != 6 or parts[3] != "d" or parts[4] != self.device or parts[5] not in KINDS:
            return
        place = parts[5]
        if not payload:
            # Somebody cleared what was kept; the agent never does.
            self.counts["cleared"] += 1
            return
        self.counts[place] += 1
        if place == "keys":
            return
        try:
            kind = jwt.get_unverified_header(payload)["typ"]
            claims = jwt.decode(payload, self.key, algorithms=["ES256"], options={
                "verify_exp": False, "verify_iat": False, "verify_nbf": False, "verify_aud": False})
        except Exception as error:  # whatever it is, it is a fault
            if words[1] == self.device:
                self.fault(f"{place}: {error}: {payload[:40]}")
            else:
                self.counts["foreign"] += 1
            return
        if kind not in KINDS[place]:
            return self.fault(f"{kind} on {place}")
        if kind == "eat+jwt":
            self.report(claims, digest(payload), place)
        elif place == "event":
            self.event(claims, digest(payload))
        elif place == "presence":
            self.presence(claims)
        elif kind == "posture-progress+jwt" and claims["state"] in ("accepted", "waiting"):
            self.accepted.add(claims["cmd"])
        elif kind == "posture-refusal+jwt":
            self.refused.add(claims["cmd"])

    def report(self, claims, mark, place):
        number = claims["seq"]
        if self.reports.setdefault(number, mark) != mark:
            self.fault(f"report {number} twice with different contents")
        nonces = claims.get("eat_nonce", [])
        self.nonces.update([nonces] if isinstance(nonces, str) else nonces)
        if place != "report":
            return
        if number < self.last_sequence:
            self.fault(f"report {number} after {self.last_sequence}")
        self.last_sequence, self.last_report = max(number, self.last_sequence), claims
        self.heads.append(claims["chain"])

    def event(self, claims, mark):
        number, chain = claims["eseq"], claims["chain"]
        # A gap stands for the events in whose place it is, and is named by the digest of the last of them.
        first = claims["first"] if claims["event"] == "gap" else number
        mark = claims["head"] if claims["event"] == "gap" else mark
        events = self.chains.setdefault(chain, {})
        known = events.get(number)
        if known:
            self.counts["repeated"] += 1
            if known[0] != mark:
                self.fault(f"event {number} of {chain} twice with different contents")
            return
        newest = self.newest.get(chain, 0)
        if first != newest + 1 and not (claims["event"] == "gap" and first <= newest + 1):
            self.fault(f"event {number} of {chain} after {newest}")
        if claims["event"] == "gap":
            self.counts["gaps"] += 1
            self.counts["declared"] += number - first + 1
        before = events.get(first - 1)
        if first > 1 and before and before[0] != claims.get("prev"):
            self.fault(f"event {number} of {chain} does not follow from the one before")
        if (first == 1) != ("prev" not in claims):
            self.fault(f"event {number} of {chain}: prev")
        events[number] = (mark, first)
        self.newest[chain] = max(number, newest)

    def presence(self, claims):
        if claims["conn"] < self.connection:
            self.fault(f"presence {claims['conn']} after {self.connection}")
        self.connection = max(claims["conn"], self.connection)

    def conclude(self):
        for chain, events in self.chains.items():
            next_one = 1
            for number in sorted(events):
                if events[number][1] > next_one:
                    self.fault(f"{chain}: events {next_one} to {events[number][1] - 1} are missing")
                next_one = number + 1
        for head in self.heads:
            if head["eseq"] == 0:
                continue
            event = self.chains.get(head["chain"], {}).get(head["eseq"])
            if not event:
                self.fault(f"{head['id']}: event {head['eseq']}, which a report names, never came")
            elif event[0] != head["head"]:
                self.fault(f"{head['id']}: event {head['eseq']} is another than a report names")
        for chain in self.chains:
            if chain not in {head["chain"] for head in self.heads}:
                self.counts["unnamed chains"] += 1
        report = self.last_report or {}
        return {
            "faults": sorted(set(self.faults))[:20], "counts": dict(self.counts), "reports": len(self.reports),
            "events": sum(len(events) for events in self.chains.values()), "chains": len(self.chains),
            "connections": self.connection, "sequence": self.last_sequence, "verdict": report.get("verdict"),
            "newest": report.get("chain", {}).get("eseq", 0), "accepted": len(self.accepted),
            "refused": len(self.refused), "nonces": len(self.nonces), "lastNonces": report.get("eat_nonce", []),
            "cause": report.get("cause"), "clock": report.get("clk"), "issued": report.get("iat"),
        }


def main():
    record, device, credential = sys.argv[1:4]
    claims = json.loads(decode(open(credential).read().strip().split(".")[1]))
    judge = Judge(device, jwt.PyJWK.from_dict(claims["cnf"]["jwk"] | {"alg": "ES256"}).key)
    with open(record, errors="replace") as lines:
        for line in lines:
            judge.take(line)
    print(json.dumps(judge.conclude()))


main()
