#!/usr/bin/python3
"""Validates JSON documents against schemas/ with an independent validator (python3-jsonschema).

Standard input: lines of NAME, a tab, and a document; NAME is the schema's file without ".schema.json".
Prints what does not hold, a line each; exit status 0 only if everything does, and at least one line was read.
"""
import glob, json, os, sys, warnings

warnings.simplefilter("ignore")
from jsonschema import Draft202012Validator, RefResolver

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "schemas")
schemas = {}
for path in glob.glob(os.path.join(folder, "*.schema.json")):
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    schemas[os.path.basename(path)] = schema
store = {schema["$id"]: schema for schema in schemas.values()}

count = faults = 0
for line in sys.stdin:
    name, _, text = line.rstrip("\n").partition("\t")
    schema = schemas[name + ".schema.json"]
    validator = Draft202012Validator(schema, resolver=RefResolver(schema["$id"], schema, store=store))
    count += 1
    for error in validator.iter_errors(json.loads(text)):
        faults += 1
        print(f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")
sys.exit(0 if count and not faults else 1)
